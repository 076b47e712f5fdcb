/** A process that counts up in a ledger, and says so each time, until it is killed. */

import { FileStore } from "../src/file.js";
import { fresh } from "../src/state.js";

const store = new FileStore(process.argv[2]!);
for (;;) {
  const number = await store.transact((state) => {
    const next = state ?? fresh(0);
    next.latestS += 1;
    return [next, next.latestS];
  });
  process.send!(number);
}
