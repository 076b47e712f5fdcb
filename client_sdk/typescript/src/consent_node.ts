/**
 * Asks for consent on the terminal, in Node. A file next to the ledger stores the choice. `forget` does not delete it.
 */

import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Prompt } from "./deciding.js";
import { codeOf, folderOf } from "./file.js";
import { kit } from "./kit.js";

export * from "./deciding.js";

/** The file in `dataDir` that stores the choice. */
const FILE_NAME = "consent.json";

interface NodeSettings {
  readonly collector: string;
  /** The app's folder, as for a `Telemetry`. */
  readonly dataDir: string;
  /** The app's own variable, such as NOTES_TELEMETRY. 1 agrees to everything; any other value suppresses telemetry. */
  readonly variable?: string;
}

export const { current, choose, ask } = kit<NodeSettings>((_, { dataDir }) => {
  const folder = folderOf(dataDir);
  return {
    environment: process.env,
    files: machineFiles().filter(mayExist),
    read: () => readFileSync(join(folder, FILE_NAME), "utf8"),
    write: (text) => replace(folder, text),
  };
}, terminal());

/** Return the files that turn telemetry off for a whole machine, by platform. */
export function machineFiles(platform: string = process.platform, environment = process.env): readonly string[] {
  const linux = "/etc/hearsay/disabled";
  if (platform === "win32") return [`${environment["PROGRAMDATA"] ?? "C:\\ProgramData"}\\Hearsay\\disabled`];
  return platform === "darwin" ? ["/Library/Application Support/Hearsay/disabled", linux] : [linux];
}

/** Whether a file exists, or is in a folder that this user may not read. */
function mayExist(file: string): boolean {
  try {
    statSync(file);
    return true;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(String(codeOf(error)));
  }
}

/** Replace the stored choice completely, or leave it unchanged. */
function replace(folder: string, text: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = join(folder, `${FILE_NAME}.${randomUUID()}`);
  try {
    const file = openSync(draft, "wx", 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, join(folder, FILE_NAME));
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Return a prompt that asks on the terminal until the user types yes or no. Without a terminal, it does not ask.
 *
 * A user who ends the input has not decided. If `statement` is the address of the app's statement, the prompt contains
 * it.
 */
export function terminal(statement?: string): Prompt {
  return (_, lines, say) => {
    const { stdin, stderr } = process;
    if (!stdin.isTTY || !stderr.isTTY || !isInForeground()) return undefined;
    const link = statement === undefined ? [] : [`${say("consent.reveals")}: ${statement}`];
    const words = { yes: say("consent.yes"), no: say("consent.no") };
    const may = `${say("consent.may")} [${words.yes}/${words.no}] `;
    stderr.write([...lines, ...link, may].join("\n"));
    const input = createInterface({ input: stdin });
    return new Promise((resolve) => {
      input.on("line", (line) => {
        const answer = typedAnswer(line, words);
        if (!answer) return void stderr.write(`${say("consent.type")}\n${may}`);
        resolve(answer === "yes");
        input.close();
      });
      input.on("close", () => resolve(undefined));
    });
  };
}

/**
 * Return the answer that a user typed, as a whole word or as a unique first letter; undefined for any other input.
 *
 * No answer is easier to give than another.
 */
export function typedAnswer<Answer extends string>(line: string, words: Readonly<Record<Answer, string>>): Answer | undefined {
  const typed = line.trim().toLowerCase();
  const chosen = (Object.keys(words) as Answer[]).filter((each) => [words[each], words[each][0]].includes(typed));
  return chosen.length === 1 ? chosen[0] : undefined;
}

/**
 * Whether this program may read from its terminal. The system would stop a program in the background. Only Linux says
 * whether a program is in the background.
 */
function isInForeground(): boolean {
  try {
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
    return group === foreground;
  } catch {
    return true;
  }
}
