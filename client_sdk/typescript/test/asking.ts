/** A program that asks its user, and says what is decided. */

import { consent } from "../src/node.js";
import { registry } from "./devices.js";

const [dataDir, language] = process.argv.slice(2) as [string, string];
const prompt = consent.terminal("https://acme.example/statement");
const decision = await consent.ask(registry(["a"]), { collector: "https://telemetry.example.com", dataDir, language, prompt });
console.log(`-> ${decision.consent} ${decision.rule}`);
