/** `hearsay-conformance` plays this SDK by its program, and finds every rule kept. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
const BIN = process.env["HEARSAY_BIN"] ?? join(PACKAGE, "../../.venv/bin");
const PROGRAM = fileURLToPath(new URL("conformance.js", import.meta.url));

test("this SDK conforms to the protocol", () => {
  const { stdout, stderr } = spawnSync(join(BIN, "hearsay-conformance"), [`'${process.execPath}' '${PROGRAM}'`], { encoding: "utf8" });
  assert.equal(stderr, "");
  assert.match(stdout, /\nconforms in all that it supports\n$/, stdout);
});
