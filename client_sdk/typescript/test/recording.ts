/** A process that records one question after the other in a ledger, and says what became of each, until it is killed. */

import { Telemetry } from "../src/node.js";
import { registry } from "./devices.js";

const names = Array.from({ length: 1000 }, (_, n) => `m${n}`);
const telemetry = new Telemetry(registry(names), { collector: "http://127.0.0.1:9", dataDir: process.argv[2]!, consent: true, sends: false });
for (const name of names) process.send!([name, await telemetry.record(name, true)]);
