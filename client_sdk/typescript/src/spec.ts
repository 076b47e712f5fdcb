/** Mechanisms, metrics, windows and bodies. This module uses no clock, storage or network. */

export type { Channel, Integers, Mechanism } from "./channel.js";
export { COIN_SCALE, WordCoins, systemCoins, type Coins } from "./coins.js";
export type * from "./compiled.js";
export * from "./errors.js";
export type { Domain, Kind, Kinds } from "./kinds/kind.js";
export { boolean, category, ordinal, set } from "./kinds/named.js";
export { nearest } from "./kinds/nearest.js";
export { count, number } from "./kinds/numeric.js";
export { cross, meanByGroup } from "./kinds/pairs.js";
export { balancedDesign } from "./mechanisms/balanced.js";
export { optimalMean, squareWave } from "./mechanisms/bands.js";
export { cyclicDesign } from "./mechanisms/cyclic.js";
export { hierarchical } from "./mechanisms/hierarchical.js";
export { pairGeometry } from "./mechanisms/pairs.js";
export { projectiveGeometry } from "./mechanisms/projective.js";
export { kAryRandomizedResponse, oneBit, oneOf, randomizedResponse } from "./mechanisms/response.js";
export { exponential, gaussian, laplace } from "./mechanisms/weights.js";
export { Metric } from "./metric.js";
export { parseWindow, windowOf, type Window } from "./window.js";
export { REFUSALS, decodeVerdict, encodeUpload, type Refused, type Report, type Upload } from "./wire.js";
