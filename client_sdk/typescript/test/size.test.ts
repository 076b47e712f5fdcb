import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { build } from "esbuild";

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** Return the bytes of a module after bundling, minifying and gzip. */
async function gzipped(source: string): Promise<number> {
  const bundled = await build({
    stdin: { contents: source, resolveDir: PACKAGE },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return gzipSync(bundled.outputFiles[0]!.contents, { level: 9 }).length;
}

// A KB is 1,000 bytes here, the smaller one of the two.
test("everything is at most 14.61 KB", async () => {
  const bytes = await gzipped('export * from "hearsay-ldp"; export * from "hearsay-ldp/spec";');
  console.log(`everything: ${bytes} bytes`);
  assert.ok(bytes <= 14_610, `${bytes}`);
});

test("booleans, categories and means of numbers, with their words, are at most 10 KB", async () => {
  const bytes = await gzipped(`
    export { Telemetry } from "hearsay-ldp";
    export { boolean, category, number } from "hearsay-ldp/spec";
    export { randomizedResponse, kAryRandomizedResponse, optimalMean } from "hearsay-ldp/spec";
  `);
  console.log(`boolean, category, number: ${bytes} bytes`);
  assert.ok(bytes <= 10_000, `${bytes}`);
});

test("the consent kit adds at most 2.11 KB", async () => {
  const page = 'export * from "hearsay-ldp"; export * from "hearsay-ldp/spec";';
  const bytes = (await gzipped(`${page} export * from "hearsay-ldp/consent";`)) - (await gzipped(page));
  console.log(`consent: ${bytes} bytes`);
  assert.ok(bytes <= 2_110, `${bytes}`);
});

test("nothing that a page must not use is in the bundle", async () => {
  const bundled = await build({
    stdin: { contents: 'export * from "hearsay-ldp"; export * from "hearsay-ldp/spec";', resolveDir: PACKAGE },
    bundle: true,
    format: "esm",
    write: false,
  });
  const text = bundled.outputFiles[0]!.text;
  for (const banned of ["Math.random", "localStorage", "sendBeacon", "document.cookie", "eval("]) {
    assert.ok(!text.includes(banned), banned);
  }
});
