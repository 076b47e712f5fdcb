/** What a kill cannot show, because the system keeps what was written: which steps of a commit wait for the disk. */

import assert from "node:assert/strict";
import files from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const folder = files.mkdtempSync(join(tmpdir(), "hearsay-durable-"));
after(() => files.rmSync(folder, { recursive: true }));

const steps: string[] = [];
let isFull = false;
const named = (path: unknown) => String(path).replace(folder, ".").replace(/draft\..*/, "draft");
const { open, link } = fs;
fs.open = async (...given: Parameters<typeof open>) => {
  const file = await open(...given);
  const sync = file.sync.bind(file);
  file.sync = () => (isFull ? Promise.reject(new Error("ENOSPC")) : sync()).then(() => void steps.push(`sync ${named(given[0])}`));
  return file;
};
fs.link = (...given: Parameters<typeof link>) => link(...given).then(() => void steps.push(`link ${named(given[1])}`));
const { fsyncSync, renameSync } = files;
files.fsyncSync = (file) => (fsyncSync(file), void steps.push("sync"));
files.renameSync = (from, to) => (renameSync(from, to), void steps.push(`rename ${named(to)}`));
syncBuiltinESMExports();

test("a commit is on the disk before it gets its name, and its name before it is acknowledged", async () => {
  const { FileStore } = await import("../src/file.js");
  const { fresh } = await import("../src/state.js");
  const store = new FileStore(folder);
  for (let commit = 1; commit <= 2; commit++) {
    steps.length = 0;
    await store.transact((state) => [state ?? fresh(0), undefined]);
    steps.push("acknowledged");
    const first = commit === 1 ? ["sync ./origin"] : [];
    assert.deepEqual(steps, [...first, "sync ./draft", `link ./state.${commit}`, "sync .", "acknowledged"]);
  }
});

test("a disk that is full keeps the state as it was, and nothing of the one that did not fit", async () => {
  const { FileStore } = await import("../src/file.js");
  const store = new FileStore(folder);
  const before = await fs.readdir(folder);
  isFull = true;
  await assert.rejects(store.transact((state) => [state!, undefined]), /ENOSPC/);
  isFull = false;
  assert.deepEqual(await fs.readdir(folder), before);
  await store.transact((state) => [state!, undefined]);
});

test("a choice is on the disk before it takes the place of an earlier one", async () => {
  const { consent } = await import("../src/node.js");
  const { registry } = await import("./devices.js");
  steps.length = 0;
  consent.choose(registry(["a"]), { collector: "https://collector.example.com", dataDir: folder, consent: true });
  assert.deepEqual(steps, ["sync", "rename ./consent.json"]);
});
