/** `hearsay-estimator audit` plays this SDK by its program, and accuses each mutant of it. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { MUTANTS } from "./mutants.js";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const BIN = process.env["HEARSAY_BIN"] ?? join(PACKAGE, "../../.venv/bin");

/** Of each answer: enough to accuse each mutant. */
const REPORTS = 240;

const TOML = `
schema = 1
[app]
name = "acme"
[budget]
per_window = 3
lifetime = 30
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"
`;

const folder = mkdtempSync(join(tmpdir(), "hearsay-audit-"));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, "node_modules"));
symlinkSync(PACKAGE, join(folder, "node_modules", "hearsay-ldp"));
const [registry, compiled] = [join(folder, "metrics.toml"), join(folder, "hearsay.mjs")];
writeFileSync(registry, TOML);
execFileSync(join(BIN, "hearsay-client"), ["compile", "--registry", registry, "--target", "node", "--output", compiled]);

function audited(program: string): { status: number | null; stderr: string } {
  const options = ["audit", "--registry", registry, "--reports", String(REPORTS), "--sdk", program];
  return spawnSync(join(BIN, "hearsay-estimator"), options, { encoding: "utf8" });
}

for (const name of Object.keys(MUTANTS)) {
  test(`an audit ${name === "right" ? "accuses nothing of the right SDK" : `accuses an SDK of ${name}`}`, () => {
    const { status, stderr } = audited(`node ${join(PACKAGE, "dist/test/mutants.js")} "${name}" ${compiled}`);
    assert.equal(status, name === "right" ? 0 : 1, stderr);
    assert.match(stderr, name === "right" ? /^$/ : /dark_mode/);
  });
}

test("the command that apps have plays the SDK as it is", () => {
  const lines = [
    { do: "begin" },
    { do: "record", metric: "dark_mode", answer: true, at: 1_767_268_800 },
    { do: "record", metric: "dark_mode", answer: "canary" },
    { do: "flush", at: 1_767_268_801 },
    { do: "begin" },
    { do: "flush" },
    { do: "dance" },
  ];
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const output = execFileSync("node", [join(PACKAGE, "dist/src/audit_command.js"), compiled], { input, encoding: "utf8" });
  const [begun, recorded, wrong, sent, again, empty, unknown] = output.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual([begun, recorded, again, empty], [{}, { recorded: "queued" }, {}, { sent: [] }]);
  assert.match(wrong.error, /dark_mode expects true or false/);
  assert.deepEqual(JSON.parse(sent.sent[0]).reports.map(({ window }: { window: string }) => window), ["2026-01-01"]);
  assert.match(unknown.error, /begin, record or flush/);
});
