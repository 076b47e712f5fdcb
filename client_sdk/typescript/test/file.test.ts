import assert from "node:assert/strict";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FileStore } from "../src/file.js";
import { Telemetry } from "../src/node.js";
import { machine } from "../src/origin.js";
import { fresh, type State } from "../src/state.js";
import { DAY_S, NOW_S, registry, registryOf } from "./devices.js";

const folder = await mkdtemp(join(tmpdir(), "hearsay-"));
after(() => rm(folder, { recursive: true }));

/** Count one up in the state's document. */
function up(state: State | undefined): readonly [State, number] {
  const next = state ?? fresh(0);
  next.latestS += 1;
  return [next, next.latestS];
}

test("no commit is lost or made twice between stores of one folder", async () => {
  const path = join(folder, "stores");
  const stores = Array.from({ length: 4 }, () => new FileStore(path));
  const seen = await Promise.all(Array.from({ length: 80 }, (_, turn) => stores[turn % 4]!.transact(up)));
  assert.deepEqual(seen.sort((left, right) => left - right), Array.from({ length: 80 }, (_, turn) => turn + 1));
  assert.ok((await readdir(path)).length <= 12);
});

test("whose draft is deleted by who opts out writes it anew", async () => {
  const path = join(folder, "opting out");
  const stores = Array.from({ length: 3 }, () => new FileStore(path));
  const out = (state: State | undefined) => up(state && { ...state, optedOut: true });
  const seen = await Promise.all(Array.from({ length: 30 }, (_, turn) => stores[turn % 3]!.transact(out)));
  assert.deepEqual(seen.sort((left, right) => left - right), Array.from({ length: 30 }, (_, turn) => turn + 1));
});

test("a process that slept while others went on commits on their state", async () => {
  const path = join(folder, "sleeper");
  const [sleeper, others] = [new FileStore(path), new FileStore(path)];
  await sleeper.transact(up);
  let wentOn: Promise<number[]> | undefined;
  let attempts = 0;
  const seen = await sleeper.transact((state) => {
    attempts += 1;
    wentOn ??= Promise.all(Array.from({ length: 40 }, () => others.transact(up)));
    return up(state);
  });
  const all = [1, seen, ...(await wentOn!)].sort((left, right) => left - right);
  assert.deepEqual(all, Array.from({ length: 42 }, (_, turn) => turn + 1));
  assert.ok(attempts >= 1);
});

const BIN = process.env["HEARSAY_BIN"] ?? fileURLToPath(new URL("../../../../.venv/bin", import.meta.url));

test("the first place that has a machine's id counts, and none before the first boot has ended", async () => {
  const texts = { empty: "\n", "first boot": "uninitialized\n", first: "1\n", second: "2\n" };
  const paths = Object.keys({ missing: "", ...texts }).map((name) => join(folder, `${name} id`));
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, `${name} id`), text);
  assert.equal(await machine(paths), await machine(paths.slice(3, 4)));
  assert.notEqual(await machine(paths), await machine(paths.slice(4)));
  assert.equal(await machine(paths.slice(0, 3)), null);
});

test("hearsay-client knows the folder, and leaves it to the app", async () => {
  const path = join(folder, "shown");
  await new FileStore(path).transact(up);
  const { status, stderr } = spawnSync(join(BIN, "hearsay-client"), ["show", "--data-dir", path], { encoding: "utf8" });
  assert.deepEqual([status, stderr.split(", ")[0]], [1, `Error: ${path} has the ledger of an app for Node`]);
});

const OPTIONS = { collector: "http://127.0.0.1:9", consent: true, sends: false };

test("a folder that cannot be used is named, with what the system says", async () => {
  const path = join(folder, "no folder");
  await writeFile(path, "");
  const telemetry = new Telemetry(registry(["a"]), { ...OPTIONS, dataDir: path });
  assert.equal(await telemetry.record("a", true), "unavailable");
  assert.match(telemetry.problem!, /ENOTDIR.*no folder/);
  await assert.rejects(telemetry.history(), /ENOTDIR.*no folder/);
});

test("a folder that is no path is refused by name", () => {
  for (const dataDir of [undefined, null, "", "~/acme", 5, "a\0b"]) {
    assert.throws(() => new Telemetry(registry(["a"]), { ...OPTIONS, dataDir: dataDir as string }), /^HearsayError: dataDir/);
  }
});

test("a registry that is none for Node is refused in words", () => {
  for (const wrong of [undefined, null, "metrics.toml", { default: registry(["a"]) }, registry(["a"], {}, "web")]) {
    const given = wrong as ReturnType<typeof registry>;
    assert.throws(() => new Telemetry(given, { ...OPTIONS, dataDir: folder }), /^HearsayError: .*--target node/);
  }
});

test("a program that goes to another folder keeps its ledger", async (context) => {
  const before = process.cwd();
  context.after(() => process.chdir(before));
  process.chdir(folder);
  const telemetry = new Telemetry(registry(["a"]), { ...OPTIONS, dataDir: "relative" });
  assert.equal(await telemetry.record("a", true), "queued");
  process.chdir(tmpdir());
  assert.equal(await telemetry.record("a", true), "already_recorded");
});

test("a ledger that cannot be read records nothing, and is not made anew", async () => {
  const path = join(folder, "broken");
  await new FileStore(path).transact(up);
  await truncate(join(path, "state.1"), 5);
  const telemetry = new Telemetry(registry(["a"]), { collector: "http://127.0.0.1:9", dataDir: path, consent: true, sends: false });
  assert.equal(await telemetry.record("a", true), "unavailable");
  assert.deepEqual((await readdir(path)).sort(), ["origin", "state.1"]);
  assert.match(telemetry.problem!, /cannot be read/);
});

test("a process that is killed at any instant leaves a ledger that holds every acknowledged commit", async () => {
  const path = join(folder, "killed");
  const told = new Set<number>();
  for (let round = 0; round < 6; round++) {
    const child = fork(new URL("./counting.js", import.meta.url), [path]);
    child.on("message", (number) => told.add(number as number));
    await once(child, "message");
    await new Promise((resolve) => setTimeout(resolve, 3 + 7 * round));
    child.kill("SIGKILL");
    await once(child, "close");
  }
  const [latest] = await new FileStore(path).transact((state) => [undefined, [state!.latestS] as const]);
  assert.ok(latest! >= Math.max(...told));
  assert.equal(told.size >= 6, true);
});

test("nothing is written before the user agrees", async () => {
  const path = join(folder, "silent");
  const telemetry = new Telemetry(registry(["a"]), { collector: "http://127.0.0.1:9", dataDir: path, sends: false });
  await telemetry.record("a", true);
  await telemetry.forget();
  await telemetry.history();
  await assert.rejects(readdir(path), { code: "ENOENT" });
});

/** Return all that the files of a folder hold. */
async function contents(path: string): Promise<string> {
  const texts = (await readdir(path)).map((name) => readFile(join(path, name), "utf8"));
  return (await Promise.all(texts)).join("\n");
}

test("what is erased, withdrawn or reported is in no file of an earlier state any more", async () => {
  const steps = {
    forget: (telemetry: Telemetry) => telemetry.forget(),
    withdraw: (telemetry: Telemetry) => ((telemetry.consent = ["b"]), telemetry.record("b", true)),
    report: (telemetry: Telemetry) => ((nowS += 2 * DAY_S), telemetry.record("b", true)),
  };
  let nowS = NOW_S;
  for (const [name, step] of Object.entries(steps)) {
    const path = join(folder, name);
    const registry = registryOf({ a: ["a"], b: ["b"], clicks: ["a"] });
    const options = { collector: "http://127.0.0.1:9", dataDir: path, consent: true, sends: false, clock: () => nowS };
    const telemetry = new Telemetry(registry, options);
    await telemetry.record("a", true);
    await telemetry.count("clicks", 7);
    await writeFile(join(path, "draft.of a killed process"), '"count":7');
    assert.match(await contents(path), /"count":7.*\n?.*"count":7/s);
    await step(telemetry);
    const left = await contents(path);
    const drafts = name === "forget" ? 0 : 1; // what is young may belong to a process that lives
    assert.equal(left.split('"count":7').length - 1, drafts, name);
    if (name !== "report") assert.doesNotMatch(left, /"metric":"a"/);
  }
});

test("what killed processes left is tidied up, and what is new is not", async () => {
  const path = join(folder, "stores");
  await writeFile(join(path, "draft.new"), "");
  await new FileStore(path).transact(up);
  assert.ok((await readdir(path)).includes("draft.new"));
});

/** What a device with a ledger in a folder says to an answer, and why. */
async function recorded(path: string): Promise<readonly [string, string | undefined]> {
  const telemetry = new Telemetry(registry(["a", "b"]), { collector: "http://127.0.0.1:9", dataDir: path, consent: true, sends: false });
  return [await telemetry.record("b", true), telemetry.problem];
}

test("a copy of the folder records nothing, in whatever way it was made; the original goes on under any name", async () => {
  const path = join(folder, "original");
  await new FileStore(path).transact((state) => [state ?? fresh(0), undefined]);
  for (const options of [{ preserveTimestamps: true }, {}]) {
    const copy = join(folder, `copy ${"preserveTimestamps" in options}`);
    await cp(path, copy, { recursive: true, ...options });
    const [outcome, problem] = await recorded(copy);
    assert.equal(outcome, "unavailable");
    assert.match(problem!, /was copied/);
    assert.equal((await readdir(copy)).length, 2);
  }
  await rename(path, join(folder, "renamed"));
  assert.equal((await recorded(join(folder, "renamed")))[0], "queued");
});

test("a ledger without the file that stands for it, or of another machine or birth, records nothing", async () => {
  for (const part of ["inode", "birth", "machine", "file"]) {
    const path = join(folder, `of another ${part}`);
    await new FileStore(path).transact((state) => [state ?? fresh(0), undefined]);
    if (part === "file") await rm(join(path, "origin"));
    else {
      const document = JSON.parse(await readFile(join(path, "state.1"), "utf8"));
      document.origin[part] = "1";
      await writeFile(join(path, "state.1"), JSON.stringify(document));
    }
    const isKnown = part !== "birth" || process.platform !== "win32";
    assert.equal((await recorded(path))[0], isKnown ? "unavailable" : "queued", part);
  }
});

test("whenever a process is killed, what was queued is kept, and each report is charged once", async () => {
  const path = join(folder, "recording");
  const queued: string[] = [];
  for (let round = 0; round < 6; round++) {
    const child = fork(new URL("./recording.js", import.meta.url), [path]);
    child.on("message", ([name, outcome]: [string, string]) => outcome === "queued" && queued.push(name));
    await once(child, "message");
    await new Promise((resolve) => setTimeout(resolve, 5 * round));
    child.kill("SIGKILL");
    await once(child, "close");
  }
  const state = await new FileStore(path).transact((state) => [undefined, state!]);
  const waiting = state.queue.map(({ metric }) => metric);
  assert.equal(new Set(waiting).size, waiting.length);
  for (const name of queued) assert.ok(waiting.includes(name), name);
  assert.equal(state.lifeNanos, `${waiting.length}000000000`);
  assert.ok(queued.length > 0);
});
