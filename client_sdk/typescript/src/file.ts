/**
 * The state in files of a folder, safe against kill -9, power loss and other processes.
 *
 * Each commit is a new file `state.N`, written beside and made durable first, then linked to its name: of two processes
 * that both commit N, one fails and tries again on the other's state. There is no lock that a killed process could
 * leave behind. A process that slept while N + 1 was made and deleted again may link it late: it then finds a later
 * state without its own mark, and tries again on that one.
 *
 * A state may hold a true count, and a history that the user then erases. So a commit empties the files of all earlier
 * states, and opting out deletes what any process was about to write, too.
 */

import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, readdir, stat, truncate, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { HearsayError } from "./errors.js";
import { contradicts, mark, originOf, type Origin } from "./origin.js";
import type { State, Store } from "./state.js";

/** Commits whose marks a state holds: far more than other processes make between two steps of one. */
const MARKS = 256;

/** Numbers that stay behind the latest one, as empty files: a listing may miss a file that is made meanwhile. */
const KEPT = 8;

/** A draft of that age belongs to a process that was killed. */
const ABANDONED_MS = 3_600_000;

/** The file by which a copy of the folder is known. */
const ORIGIN = "origin";

const COPY =
  "the ledger is a copy, restored or brought from elsewhere, or this machine's id can no longer be read; a copy would " +
  "spend the same budget again, so that nothing is recorded: put the original back, or delete it by hand, which also " +
  "forgets what was spent";

interface Document {
  readonly origin: Origin;
  readonly marks: readonly string[];
  readonly state: State;
}

export class FileStore implements Store {
  readonly #folder: string;
  #turn: Promise<unknown> = Promise.resolve();

  /** Take a path, which means the same folder wherever the program goes later, and perhaps a folder within it. */
  constructor(folder: string, within = "") {
    this.#folder = resolve(folderOf(folder), within);
  }

  async exists(): Promise<boolean> {
    return (await this.#latest().catch(rethrown)) > 0;
  }

  /** Work of one process is done one after the other. */
  transact<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T> {
    const turn = this.#turn.then(() => this.#commit(work)).catch(rethrown);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #commit<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T> {
    for (;;) {
      const [number, found] = await this.#read();
      const [state, result] = work(found?.state);
      if (!state) return result;
      const own = randomUUID();
      const marks = [...(found?.marks ?? []).slice(1 - MARKS), own];
      const origin = found?.origin ?? (await this.#made());
      if (await this.#linked(number + 1, { origin, marks, state })) {
        if (await this.#holds(number + 1, own)) return result;
        await unlessGone(unlink(this.#path(number + 1)));
      }
    }
  }

  /** Return the latest state and its number; 0 and undefined if there is none. */
  async #read(): Promise<readonly [number, Document | undefined]> {
    for (;;) {
      const number = await this.#latest();
      if (number === 0) return [0, undefined];
      try {
        const document = JSON.parse(await readFile(this.#path(number), "utf8")) as Document;
        const origin = await originOf(join(this.#folder, ORIGIN));
        if (!origin || contradicts(document.origin, origin)) throw new HearsayError(COPY);
        return [number, document];
      } catch (error) {
        if (codeOf(error) === "ENOENT") continue; // others have gone far ahead since
        if (error instanceof HearsayError) throw error;
        if ((await this.#latest()) > number) continue; // it was emptied meanwhile
        throw new HearsayError("the ledger cannot be read; nothing is recorded, so that no budget is renewed");
      }
    }
  }

  /** Make the folder and the file that stands for it; return where it was made. */
  async #made(): Promise<Origin> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await mark(join(this.#folder, ORIGIN));
    return (await originOf(join(this.#folder, ORIGIN)))!;
  }

  async #latest(): Promise<number> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    });
    return Math.max(0, ...names.map(numberOf));
  }

  /** Give a document its name; return false if another process was first. */
  async #linked(number: number, document: Document): Promise<boolean> {
    const draft = join(this.#folder, `draft.${randomUUID()}`);
    try {
      await durable(draft, "wx", JSON.stringify(document));
      await link(draft, this.#path(number));
    } catch (error) {
      if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOENT") return false; // or opting out deleted it
      throw error;
    } finally {
      await unlessGone(unlink(draft));
    }
    await durable(this.#folder, "r");
    return true;
  }

  /** Whether the latest state holds a mark; then nothing is left of older ones. */
  async #holds(number: number, mark: string): Promise<boolean> {
    const [latest, document] = await this.#read();
    if (latest !== number && !document?.marks.includes(mark)) return false;
    if (document!.state.optedOut) await this.#tidy(number, -Infinity);
    else await this.#tidy(number, ABANDONED_MS).catch(() => undefined); // the next commit tries again
    return true;
  }

  /** Empty the states before a number, delete those far before it, and drafts that are older than an age. */
  async #tidy(latest: number, draftMs: number): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const [path, number] = [join(this.#folder, name), numberOf(name)];
      if (name.startsWith("draft.") ? Date.now() - (await modifiedMs(path)) > draftMs : number > 0 && number <= latest - KEPT) {
        await unlessGone(unlink(path));
      } else if (number > 0 && number < latest) {
        await unlessGone(truncate(path));
      }
    }
  }

  #path(number: number): string {
    return join(this.#folder, `state.${number}`);
  }
}

/** Return a path that means the same folder wherever the program goes later. */
export function folderOf(path: string): string {
  if (typeof path !== "string" || /^(~[/\\]|~?$)|\0/.test(path)) {
    throw new HearsayError("dataDir must be the path of a folder of the app, as a text and without ~");
  }
  return resolve(path);
}

/** Write a file, or only wait until a file or folder is on the disk. */
async function durable(path: string, flags: "wx" | "r", text?: string): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Wait until something is done to a file, which another process may have deleted. */
async function unlessGone(doing: Promise<void>): Promise<void> {
  await doing.catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

/** Return the number of a state; 0 for any other file. */
function numberOf(name: string): number {
  return Number(/^state\.(\d+)$/.exec(name)?.[1] ?? 0);
}

/** Return when a file was written; a file that another process has deleted is new. */
async function modifiedMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  );
}

/** Throw an error again; the system's own says in words which file cannot be used, and why. */
function rethrown(error: unknown): never {
  throw codeOf(error) === undefined ? error : new HearsayError((error as Error).message);
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
