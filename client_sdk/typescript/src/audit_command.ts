#!/usr/bin/env node
/** The command `hearsay-audit hearsay.js`, for a file that `hearsay-client compile` wrote. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { play } from "./audit.js";

if (process.argv.length !== 3) {
  console.error("usage: hearsay-audit FILE (a module written by hearsay-client compile)");
  process.exit(2);
}
await play((await import(pathToFileURL(resolve(process.argv[2]!)).href)).default);
