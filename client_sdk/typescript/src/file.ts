/**
 * Stores the state in the files of a folder, safely despite kill -9, power loss and other processes.
 *
 * Each commit creates a new file `state.N`, with the next number N. The file is first written to disk under another
 * name, a draft, and then linked to its final name. If two processes both try to commit N, only one process can create
 * the link. The other process repeats its work on the committed state. There is no lock, because a killed process could
 * leave a lock behind.
 *
 * A process may be paused while others commit later states and delete N. Its link then succeeds although its state is
 * out of date. Therefore each commit adds a random mark to the state. If the latest state lacks the process's own mark,
 * the process repeats its work on this state.
 *
 * A state may contain a true count, or a history that the user erases later. Therefore a commit empties the files of
 * all earlier states. Opting out also deletes the drafts of other processes.
 */

import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, readdir, stat, truncate, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { HearsayError } from "./errors.js";
import { contradicts, mark, originOf, type Origin } from "./origin.js";
import type { State, Store } from "./state.js";

/**
 * The number of latest commits with marks in a state. Other processes make far fewer between two steps of a process.
 */
const MARKS = 256;

/**
 * The number of earlier states that remain as empty files. A folder's listing may miss a file that is just being
 * created.
 */
const KEPT = 8;

/** The minimum age of a draft that belongs to a killed process. */
const ABANDONED_MS = 3_600_000;

/** The file that distinguishes the folder from a copy. */
const ORIGIN = "origin";

const COPY =
  "the ledger was copied, restored or moved from another machine, or this machine's id can no longer be read; nothing " +
  "is recorded, because a copy would spend the same budget again; put the original back, or delete it by hand, which " +
  "also deletes the record of the spent budget";

interface Document {
  readonly origin: Origin;
  readonly marks: readonly string[];
  readonly state: State;
}

export class FileStore implements Store {
  readonly #folder: string;
  #turn: Promise<unknown> = Promise.resolve();

  /** Take the app's folder, and the name of a subfolder if the ledger is in one. */
  constructor(folder: string, within = "") {
    this.#folder = resolve(folderOf(folder), within);
  }

  async exists(): Promise<boolean> {
    return (await this.#latest().catch(rethrown)) > 0;
  }

  /** Implements `Store`. The calls of one process run one after another. */
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

  /** Return the latest state and its number; 0 and undefined if there is no state. */
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
        if (codeOf(error) === "ENOENT") continue; // other processes have committed many states since
        if (error instanceof HearsayError) throw error;
        if ((await this.#latest()) > number) continue; // another process has emptied the file
        throw new HearsayError("the ledger cannot be read; nothing is recorded, because a new ledger would renew the budget");
      }
    }
  }

  /** Create the folder and the file that identifies it; return that file's origin. */
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

  /** Link a document to its name; return false if another process was first. */
  async #linked(number: number, document: Document): Promise<boolean> {
    const draft = join(this.#folder, `draft.${randomUUID()}`);
    try {
      await durable(draft, "wx", JSON.stringify(document));
      await link(draft, this.#path(number));
    } catch (error) {
      if (codeOf(error) === "EEXIST" || codeOf(error) === "ENOENT") return false; // a process was first, or the user opted out
      throw error;
    } finally {
      await unlessGone(unlink(draft));
    }
    await durable(this.#folder, "r");
    return true;
  }

  /** Whether the latest state contains a mark. If so, delete what remains of older states. */
  async #holds(number: number, mark: string): Promise<boolean> {
    const [latest, document] = await this.#read();
    if (latest !== number && !document?.marks.includes(mark)) return false;
    if (document!.state.optedOut) await this.#tidy(number, -Infinity);
    else await this.#tidy(number, ABANDONED_MS).catch(() => undefined); // if this fails, the next commit tries again
    return true;
  }

  /** Empty the states before `latest`, delete much older states, and delete drafts of at least the age `draftMs`. */
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

/** Return a path that remains valid if the program changes its working directory. */
export function folderOf(path: string): string {
  if (typeof path !== "string" || /^(~[/\\]|~?$)|\0/.test(path)) {
    throw new HearsayError("dataDir must be the path of a folder of the app, as a text and without ~");
  }
  return resolve(path);
}

/** Write a file and wait until it is on disk. Without a text, wait until an existing file or folder is on disk. */
async function durable(path: string, flags: "wx" | "r", text?: string): Promise<void> {
  const file = await open(path, flags, 0o600);
  try {
    if (text !== undefined) await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Wait for an operation on a file; ignore the error if another process has deleted the file. */
async function unlessGone(doing: Promise<void>): Promise<void> {
  await doing.catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

/** Return the number of a state, from its file's name; 0 for any other file. */
function numberOf(name: string): number {
  return Number(/^state\.(\d+)$/.exec(name)?.[1] ?? 0);
}

/** Return when a file was written. A file that another process has deleted counts as new. */
async function modifiedMs(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Infinity,
  );
}

/** Throw an error again. If the system raised it, the message names the file and the problem. */
function rethrown(error: unknown): never {
  throw codeOf(error) === undefined ? error : new HearsayError((error as Error).message);
}

export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
