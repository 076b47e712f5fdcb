/** How users are asked, where their choice is kept, and what a suppressed run and a withheld question leave. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { typedAnswer } from "../src/consent_node.js";
import { SUPPRESSED, covers, type Decision } from "../src/decision.js";
import { decide } from "../src/deciding.js";
import { Telemetry, consent } from "../src/node.js";
import { DAY_S, Device, NOW_S, registry, registryOf } from "./devices.js";
import { VECTORS } from "./vectors.js";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const BIN = process.env["HEARSAY_BIN"] ?? join(PACKAGE, "../../.venv/bin");
const COLLECTOR = "https://telemetry.example.com";

for (const name of ["DO_NOT_TRACK", ...consent.CI_VARIABLES]) delete process.env[name]; // those of the machine that runs the tests

const folder = await mkdtemp(join(tmpdir(), "hearsay-consent-"));
after(() => rm(folder, { recursive: true }));
let folders = 0;
const settings = () => ({ collector: COLLECTOR, dataDir: join(folder, `${folders++}`) });

const NOTHING = { by: "", withheld: [], undecided: [] };
const SILENT: Decision = { ...NOTHING, consent: SUPPRESSED, rule: "ci", by: "CI" };
const PLAIN = registry(["a"]);

test("of all combinations an earlier rule overrules every later one", () => {
  const rules = ["do_not_track", "ci", "machine", "variable"] as const;
  const variables = ["DO_NOT_TRACK", "TF_BUILD", undefined, "ACME"];
  for (let taken = 0; taken < 16; taken++) {
    const isTaken = (place: number) => Boolean(taken & (1 << place));
    for (const [own, stored] of ["0", "1"].flatMap((own) => [true, false].map((stored) => [own, stored] as const))) {
      const set = variables.filter((name, place) => name && isTaken(place)) as string[];
      const environment = Object.fromEntries(set.map((name) => [name, name === "ACME" ? own : "1"]));
      const choice: Decision = { ...NOTHING, consent: stored, rule: "choice" };
      const decision = decide(environment, isTaken(2) ? ["/etc/hearsay/disabled"] : [], choice, "ACME");
      const first = rules.find((_, place) => isTaken(place));
      assert.equal(decision.rule, first ?? "choice");
      assert.equal(decision.consent, first === undefined ? stored : first === "variable" && own === "1" ? true : SUPPRESSED);
    }
  }
});

test("nothing takes a suppressed run for a yes", () => {
  assert.equal(Boolean(SILENT.consent), false);
  for (const purposes of [undefined, [], ["usage"]]) assert.equal(covers(SUPPRESSED, purposes), false);
  assert.throws(() => consent.choose(PLAIN, { ...settings(), consent: SUPPRESSED as never }), /^HearsayError: a choice/);
});

test("a choice is stored as in Python, and decides until it cannot be read", async () => {
  const { registries, stored } = VECTORS.choices;
  const { definition, collector } = VECTORS.consent.standings;
  const asked = registries[definition]!;
  const given = { ...settings(), collector };
  consent.choose(asked, { ...given, consent: true });
  const path = join(given.dataDir, "consent.json");
  const written = await readFile(path, "utf8");
  const withoutDay = (text: string) => text.replace(/"day": "\d{4}-\d\d-\d\d"/, "");
  assert.equal(withoutDay(written), withoutDay(stored));
  assert.deepEqual(await readdir(given.dataDir), ["consent.json"]);
  await writeFile(path, stored);
  const { day } = JSON.parse(stored) as { day: string };
  assert.deepEqual(consent.current(asked, given), { consent: true, rule: "choice", by: day, withheld: [], undecided: [] });
  const choice = JSON.parse(stored) as object;
  const spoiled = [{}, [], null, 5, { ...choice, consent: "yes" }, { ...choice, agreed: { a: 5 } }, { ...choice, day: 1 }, { ...choice, ceilings: { lifetime: "x" } }];
  for (const text of ["", "\0", written.slice(0, -9), ...spoiled.map((each) => JSON.stringify(each))]) {
    await writeFile(path, text);
    assert.equal(consent.current(asked, given).rule, "undecided", text);
  }
});

test("a choice that cannot be stored leaves nothing", async () => {
  const given = settings();
  await mkdir(join(given.dataDir, "consent.json"), { recursive: true });
  assert.throws(() => consent.choose(PLAIN, { ...given, consent: true }), { code: "EISDIR" });
  assert.deepEqual(await readdir(given.dataDir), ["consent.json"]);
});

test("a new question is asked about once, whatever the answer is", async () => {
  const [given, later] = [settings(), registry(["a", "b"])];
  consent.choose(PLAIN, { ...given, consent: true });
  const asked: (readonly string[])[] = [];
  const prompt = (names: readonly string[]) => (asked.push(names), false);
  for (let start = 0; start < 2; start++) {
    const { consent: agreed, withheld } = await consent.ask(later, { ...given, prompt });
    assert.deepEqual([agreed, withheld], [true, ["b"]]);
  }
  assert.deepEqual(asked, [["b"]]);
  consent.choose(later, { ...given, consent: true });
  assert.deepEqual(consent.current(later, given).withheld, []);
  consent.choose(later, { ...given, consent: false });
  assert.equal(consent.current(later, given).consent, false);
});

test("a question whose delta is higher is asked about again", () => {
  const [given, { metrics, ...others }] = [settings(), PLAIN];
  const costing = (attos: string) => ({ ...others, metrics: { a: { ...metrics["a"]!, attos } } });
  consent.choose(costing("2"), { ...given, consent: true });
  assert.deepEqual(["1", "2", "3"].map((attos) => consent.current(costing(attos), given).withheld), [[], [], ["a"]]);
});

test("a purpose is shown in the language of the user, if the app has translated it", () => {
  const { de, ...others } = PLAIN.sentences;
  const sentences = { ...others, de: { ...de, "purpose.a": "Wird es benutzt?" } };
  const lines = ["de", "en"].map((language) => consent.words({ ...PLAIN, sentences }, { ...SILENT, rule: "undecided", undecided: ["a"] }, "x", language)[1]);
  assert.deepEqual(lines, ["  a: Wird es benutzt?", "  a: Is it used?"]);
});

test("a question is shown by its title, in the language of the user", () => {
  const { de, ...others } = PLAIN.sentences;
  const sentences = { ...others, de: { ...de, "title.a": "Der {neue} Editor" } };
  const titled = { ...PLAIN, sentences };
  const asked = ["de", "en"].map((language) => consent.words(titled, { ...SILENT, rule: "undecided", undecided: ["a"] }, "x", language)[1]);
  assert.deepEqual(asked, ["  Der {neue} Editor: Is it used?", "  a: Is it used?"]);
  const agreed: Decision = { ...SILENT, consent: true, rule: "choice", by: "2026-11-01", withheld: ["a"] };
  assert.match(consent.status(titled, agreed, "de")[1]!, /Der \{neue\} Editor/);
  assert.match(consent.status(titled, agreed, "en")[1]!, /\ba\b/);
});

test("a user who does not choose, or whose choice does not fit on the disk, is asked again", async () => {
  const given = settings();
  assert.equal((await consent.ask(PLAIN, { ...given, prompt: () => undefined })).rule, "undecided");
  await writeFile(given.dataDir, ""); // a file where the folder would be
  assert.equal((await consent.ask(PLAIN, { ...given, prompt: () => true })).consent, false);
  await assert.rejects(consent.ask(PLAIN, { ...given, prompt: () => "yes" as never }), /^HearsayError: consent must be/);
  await assert.rejects(consent.ask(PLAIN, { ...given, language: "xx" }), /no sentences in xx/);
});

test("the choice outlives forget", async () => {
  const given = settings();
  consent.choose(PLAIN, { ...given, consent: true });
  const telemetry = new Telemetry(PLAIN, { ...given, consent: consent.current(PLAIN, given), sends: false });
  assert.equal(await telemetry.record("a", true), "queued");
  await telemetry.forget();
  assert.equal(consent.current(PLAIN, given).consent, true);
});

test("a question that is withheld is off, the others go on, and nothing that it left is deleted", async () => {
  const device = new Device(registryOf({ a: ["usage"], b: ["usage"], clicks: ["usage"] }));
  await device.telemetry.record("b", true);
  await device.telemetry.count("clicks");
  device.nowS += DAY_S;
  const left = structuredClone(device.store.state!);
  const decision: Decision = { ...NOTHING, consent: ["usage"], rule: "choice", withheld: ["b", "clicks"], undecided: ["b", "clicks"] };
  const telemetry = device.open({ consent: decision });
  assert.deepEqual([await telemetry.record("b", true), await telemetry.count("clicks")], ["no_consent", "no_consent"]);
  assert.equal(await telemetry.record("a", true), "queued");
  const { queue, counts } = device.store.state!;
  assert.deepEqual([queue.slice(0, 1), counts], [left.queue, left.counts]);
  telemetry.consent = true;
  assert.equal(await telemetry.record("b", true), "queued");
  assert.deepEqual([device.store.state!.counts, device.store.state!.dropped], [[], {}]); // it is reported
});

test("a true count of a withheld question is not kept longer than it can be reported", async () => {
  const device = new Device(registry(["a", "clicks"]));
  await device.telemetry.count("clicks");
  device.nowS += 5 * DAY_S;
  const telemetry = device.open({ consent: { ...NOTHING, consent: true, rule: "choice", withheld: ["clicks"], undecided: ["clicks"] } });
  await telemetry.record("a", true);
  assert.deepEqual([device.store.state!.counts, device.store.state!.dropped], [[], { expired: 1 }]);
});

/** Return each file of a folder with its bytes and the time of its last change. */
async function contents(path: string): Promise<unknown[]> {
  const names = (await readdir(path)).sort();
  return Promise.all(names.map(async (name) => [name, await readFile(join(path, name)), (await stat(join(path, name))).mtimeMs]));
}

test("a suppressed run changes no byte, sends nothing and sets no timer, whenever it is suppressed", async (context) => {
  const asked = registry(["a", "b", "clicks"]);
  const { dataDir } = settings();
  let nowS = NOW_S;
  const sent: unknown[] = [];
  const fetch = (...request: unknown[]) => Promise.reject(sent.push(request));
  const options = { collector: COLLECTOR, dataDir, clock: () => nowS, fetch };
  const earlier = new Telemetry(asked, { ...options, consent: true, sends: false });
  await earlier.record("a", true);
  await earlier.count("clicks");
  const before = await contents(dataDir);
  nowS += DAY_S;
  const { mock } = context.mock.method(globalThis, "setTimeout");
  for (const start of [SILENT, SUPPRESSED, false, true]) {
    const telemetry = new Telemetry(asked, { ...options, consent: start });
    if (typeof start === "boolean") telemetry.consent = SILENT; // before the storage has answered
    assert.equal(telemetry.consent, SUPPRESSED);
    for (const name of ["b", "unheard"]) assert.equal(await telemetry.record(name, true), "suppressed");
    assert.deepEqual([await telemetry.count("clicks"), await telemetry.flush()], ["suppressed", "suppressed"]);
    assert.equal(telemetry.problem, undefined);
    await telemetry.history();
    assert.deepEqual(await contents(dataDir), before);
  }
  assert.deepEqual([sent, mock.callCount()], [[], 0]);
  const other = settings();
  await new Telemetry(asked, { ...options, ...other, consent: SILENT }).record("a", true);
  await assert.rejects(stat(other.dataDir), { code: "ENOENT" });
});

test("an explicit consent reads no environment", async (context) => {
  const record = async () => {
    const [agreed, declined] = [true, false].map((each) => new Telemetry(PLAIN, { ...settings(), consent: each, sends: false }));
    return [await agreed!.record("a", true), await declined!.record("a", true)];
  };
  const without = await record();
  context.after(() => ["DO_NOT_TRACK", "CI"].forEach((name) => delete process.env[name]));
  Object.assign(process.env, { DO_NOT_TRACK: "1", CI: "1" });
  assert.deepEqual([await record(), without], [["queued", "no_consent"], ["queued", "no_consent"]]);
  assert.equal(consent.current(PLAIN, settings()).rule, "do_not_track");
});

test("each system has its folder for a whole machine", () => {
  assert.deepEqual(consent.machineFiles("linux", {}), ["/etc/hearsay/disabled"]);
  assert.deepEqual(consent.machineFiles("win32", { PROGRAMDATA: "D:\\Data" }), ["D:\\Data\\Hearsay\\disabled"]);
  assert.deepEqual(consent.machineFiles("darwin", {})[0], "/Library/Application Support/Hearsay/disabled");
});

/** Let a program ask, on a terminal of its own or without one; return what it shows. */
async function shown(dataDir: string, typed: string, { language = "en", hasTerminal = true, shell = [] as string[], variables = {} } = {}): Promise<string> {
  const asking = [...shell, process.execPath, join(PACKAGE, "dist/test/asking.js"), dataDir, language];
  const onTerminal = [join(BIN, "python"), "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))", ...asking];
  const [command, ...args] = hasTerminal ? onTerminal : asking;
  const program = spawn(command!, args, { env: { ...process.env, ...variables }, timeout: 60_000 });
  let text = "";
  for (const stream of [program.stdout, program.stderr]) stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  program.stdin.end(typed);
  const [status] = await once(program, "close");
  assert.equal(status, 0, text);
  return text.replaceAll("\r\n", "\n");
}

test("it asks on a terminal once, and takes yes and no alone", async () => {
  const [{ dataDir }, other] = [settings(), settings()];
  const text = await shown(dataDir, "\nok\nmaybe\nY\n");
  assert.ok(text.includes("acme would like to report your answers to these questions:\n  a: Is it used?\n"), text);
  assert.ok(text.includes("What a year of answers can reveal: https://acme.example/statement\n"), text);
  assert.equal(text.split("Do you agree? [yes/no]").length, 5, text);
  assert.ok(text.endsWith("-> true choice\n"), text);
  assert.equal(await shown(dataDir, ""), "-> true choice\n");
  assert.ok((await shown(other.dataDir, "NEIN\n", { language: "de" })).endsWith("-> false choice\n"));
  assert.equal(await shown(other.dataDir, ""), "-> false choice\n");
});

test("a word or its first letter answers, and nothing else does", () => {
  const rows = VECTORS.consent.typed as { words: Record<string, string>; typed: string; answer: string | null }[];
  assert.ok(rows.length > 20);
  for (const { words, typed, answer } of rows) assert.equal(typedAnswer(typed, words) ?? null, answer, JSON.stringify([words, typed]));
});

test("a user who ends the input has not decided", async () => {
  const { dataDir } = settings();
  assert.ok((await shown(dataDir, "\x04")).endsWith("-> false undecided\n"));
  await assert.rejects(stat(dataDir), { code: "ENOENT" });
});

test("nothing is asked without a terminal, in its background, or in a suppressed run", async () => {
  const { dataDir } = settings();
  assert.equal(await shown(dataDir, "yes\n", { hasTerminal: false }), "-> false undecided\n");
  if (process.platform === "linux") {
    const shell = ["sh", "-mc", '"$0" "$@" & wait $!'];
    assert.ok((await shown(dataDir, "yes\n", { shell })).endsWith("-> false undecided\n"));
  }
  const text = await shown(dataDir, "yes\n", { variables: { CI: "1" } });
  assert.ok(text.endsWith("-> null ci\n") && !text.includes("agree"), text);
});
