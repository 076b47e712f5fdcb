/**
 * Perturbations per second of a core in Node, with the system's coins: `npm run bench`.
 *
 * It counts the time that the process had a core, so that other work on the machine changes little.
 */

import { systemCoins } from "../src/coins.js";
import { cyclicDesign, kAryRandomizedResponse, projectiveGeometry, randomizedResponse } from "../src/spec.js";

const KEEP = { keep_numerator: String(3n << 62n) };
const CHANNELS = {
  "randomized response": randomizedResponse(KEEP),
  "k-ary, 32": kAryRandomizedResponse({ inputs: "32", ...KEEP }),
  "cyclic, 256 of blocks of 64": cyclicDesign({ inputs: "256", block_size: "64", base_blocks: "8", ...KEEP }),
  "projective geometry, 1,024": projectiveGeometry({ inputs: "1024", prime: "3", dimension: "7", ...KEEP }),
};

for (const [name, channel] of Object.entries(CHANNELS)) {
  const coins = systemCoins();
  for (let warm = 0; warm < 20_000; warm++) channel.perturb(warm % channel.inputs, coins);
  const start = process.cpuUsage();
  let [done, spentMs] = [0, 0];
  for (; spentMs < 1000; done += 1000) {
    for (let each = 0; each < 1000; each++) channel.perturb(each % channel.inputs, coins);
    const { user, system } = process.cpuUsage(start);
    spentMs = (user + system) / 1000;
  }
  console.log(`${name}: ${Math.round(done / spentMs)} thousand a second`);
}
