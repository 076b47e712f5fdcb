/** Perturbations per second in Node, with the system's coins: `npm run bench`. */

import { systemCoins } from "../src/coins.js";
import { cyclicDesign, kAryRandomizedResponse, projectiveGeometry, randomizedResponse } from "../src/spec.js";

const KEEP = { keep_numerator: String(3n << 62n) };
const CHANNELS = {
  "randomised response": randomizedResponse(KEEP),
  "k-ary, 32": kAryRandomizedResponse({ inputs: "32", ...KEEP }),
  "cyclic, 256 of blocks of 64": cyclicDesign({ inputs: "256", block_size: "64", base_blocks: "8", ...KEEP }),
  "projective geometry, 1,024": projectiveGeometry({ inputs: "1024", prime: "3", dimension: "7", ...KEEP }),
};

for (const [name, channel] of Object.entries(CHANNELS)) {
  const coins = systemCoins();
  let [done, start] = [0, performance.now()];
  for (let warm = 0; warm < 20_000; warm++) channel.perturb(warm % channel.inputs, coins);
  start = performance.now();
  while (performance.now() - start < 1000) {
    for (let each = 0; each < 1000; each++) channel.perturb(each % channel.inputs, coins);
    done += 1000;
  }
  console.log(`${name}: ${Math.round(done / (performance.now() - start))} thousand a second`);
}
