/** The language-neutral vectors of the project, and their definitions as the compiler writes them. */

import { readFileSync } from "node:fs";
import type { CompiledMetric } from "../src/compiled.js";
import type { Json, Vectors } from "./checks.js";

function read(name: string): Json {
  return JSON.parse(readFileSync(new URL(`../../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
}

/** Return what `python -m tests.support.typescript` has written. */
function written(name: string): Json {
  return JSON.parse(readFileSync(new URL(`../${name}.json`, import.meta.url), "utf8"));
}

const FILES = ["coins", "invalid", "editions", "windows", "uploads", "verdicts", "stopped", "consent", "compiled"] as const;

/** The vectors that concern a device, and what Python says beside them. */
export const VECTORS: Vectors = {
  ...(Object.fromEntries(FILES.map((name) => [name, read(name)])) as Omit<Vectors, "said" | "choices">),
  said: written("said"),
  choices: written("choices"),
};

/** What Python says to users. */
export const SAID = VECTORS.said;

/** The questions of the vectors. */
export const compiledMetrics: CompiledMetric[] = Object.values(VECTORS.compiled).filter((each) => typeof each !== "string");
