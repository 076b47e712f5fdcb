/** A real collector, started by the command that operators use. */

import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BIN = process.env["HEARSAY_BIN"] ?? fileURLToPath(new URL("../../../../.venv/bin", import.meta.url));
const TOKEN = "a-token-of-these-tests-only-000000";

/** The environment without the settings of the person who runs the tests, such as another collector's store. */
const ENVIRONMENT = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HEARSAY_"))),
  HEARSAY_READ_TOKEN: TOKEN,
};

/** One metric's counts of one window. */
export interface Tally {
  readonly metric: string;
  readonly window: string;
  readonly counts: readonly number[];
}

export class Collector {
  readonly folder = mkdtempSync(join(tmpdir(), "hearsay-browsers-"));
  url = "";
  #process: ChildProcess | undefined;

  /** Write the registry, and return its compiled module. */
  compile(toml: string, ...options: string[]): string {
    const [registry, output] = [join(this.folder, "metrics.toml"), join(this.folder, "hearsay.js")];
    writeFileSync(registry, toml);
    execFileSync(join(BIN, "hearsay-client"), ["compile", "--registry", registry, "--target", "web", "--output", output, ...options]);
    return output;
  }

  /** Return the rows of the estimator's report of all windows, open ones included. */
  report(): readonly { readonly metric: string; readonly reports: number }[] {
    const output = join(this.folder, "report.json");
    const options = ["report", "--registry", "metrics.toml", "--collector", this.url, "--preliminary"];
    // 3: no window has ended yet
    const { status, stderr } = spawnSync(join(BIN, "hearsay-estimator"), [...options, "--format", "json", "--output", output], {
      cwd: this.folder,
      env: ENVIRONMENT,
      encoding: "utf8",
    });
    if (status !== 0 && status !== 3) throw new Error(stderr);
    return JSON.parse(readFileSync(output, "utf8")).metrics;
  }

  /** Start, or start again after `kill`, with the same data. */
  async start(origin: string, port: number, toml: string, ...more: string[]): Promise<void> {
    writeFileSync(join(this.folder, "metrics.toml"), toml);
    const options = ["serve", "--registry", "metrics.toml", "--bind", `127.0.0.1:${port}`, "--data-dir", "data"];
    const other = ["--cors-origin", origin, "--snapshot-interval", "1", ...more];
    this.#process = spawn(join(BIN, "hearsay-collector"), [...options, ...other], {
      cwd: this.folder,
      env: ENVIRONMENT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.url = `http://127.0.0.1:${port}`;
    for (let attempt = 0; attempt < 2400; attempt++) {
      const ready = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (ready?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("the collector does not start");
  }

  /** Return the number of reports that were counted, by metric. */
  async counted(): Promise<Record<string, number>> {
    await new Promise((resolve) => setTimeout(resolve, 1100)); // the interval between two looks
    const answer = await fetch(`${this.url}/v1/tallies?preliminary=1`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
    const tallies = (await answer.text()).split("\n").filter(Boolean).map((line) => JSON.parse(line) as Tally);
    const sums: Record<string, number> = {};
    for (const { metric, counts } of tallies) {
      sums[metric] = counts.reduce((sum, count) => sum + count, sums[metric] ?? 0);
    }
    return sums;
  }

  async stop(): Promise<void> {
    if (this.#process) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "close");
    }
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }
}
