/**
 * Stores the state in IndexedDB, as one document in one object store.
 *
 * Writing transactions on an object store run one after another, across all tabs and workers of an origin. A
 * transaction ends as soon as its code waits for anything else. Therefore all work within a transaction is synchronous.
 */

import type { State, Store } from "./state.js";

const STORE = "state";
const KEY = "state";

export class IndexedDbStore implements Store {
  readonly #name: string;
  #opened: Promise<IDBDatabase> | undefined;

  constructor(app: string) {
    this.#name = `hearsay ${app}`;
  }

  async exists(): Promise<boolean> {
    return this.#opened !== undefined || (await indexedDB.databases()).some(({ name }) => name === this.#name);
  }

  async transact<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T> {
    const database = await (this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined; // the next call tries again
      throw error;
    }));
    return new Promise((resolve, reject) => {
      // With the default durability, some browsers complete a transaction before it is on disk.
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      let result: T;
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error);
      const reading = store.get(KEY) as IDBRequest<State | undefined>;
      reading.onsuccess = () => {
        try {
          const [state, outcome] = work(reading.result);
          result = outcome;
          if (state) store.put(state, KEY);
        } catch (error) {
          reject(error);
          transaction.abort();
        }
      };
    });
  }

  #open(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open(this.#name, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const database = opening.result;
        database.onversionchange = database.onclose = () => {
          database.close();
          this.#opened = undefined;
        };
        resolve(database);
      };
    });
  }
}
