/** What real browsers do rarely: a storage that cannot be opened for a while. Tests in browsers do the rest. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { IndexedDbStore } from "../src/indexeddb.js";

const given = globalThis.indexedDB;
after(() => (globalThis.indexedDB = given));

/** Let each way to open fail in turn; return how often a storage was opened. */
function failing(...ways: (() => unknown)[]): () => number {
  let opened = 0;
  globalThis.indexedDB = { open: () => ways[opened++]!() } as unknown as IDBFactory;
  return () => opened;
}

/** A request that fails a moment later. */
function failingLater(): object {
  const request = { error: new DOMException("full", "QuotaExceededError"), onerror: () => undefined };
  queueMicrotask(() => request.onerror());
  return request;
}

test("a storage that could not be opened is opened again by the next call", async () => {
  const opened = failing(
    () => { throw new DOMException("sandboxed", "SecurityError"); },
    failingLater,
    () => { throw new DOMException("private", "InvalidStateError"); },
  );
  const store = new IndexedDbStore("acme");
  for (const name of ["SecurityError", "QuotaExceededError", "InvalidStateError"]) {
    await assert.rejects(store.transact(() => [undefined, undefined]), { name });
  }
  assert.equal(opened(), 3);
});
