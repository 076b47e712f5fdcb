/** Exact numbers: fractions of two big integers, from texts and from the decimal digits of a number. */

/** A numerator and a positive denominator. ±1/0 is infinite. */
export type Rational = readonly [numerator: bigint, denominator: bigint];

/** Return the fraction in a text such as `-1/3`. */
export function fraction(text: string): Rational {
  const [numerator, denominator = 1] = text.split("/");
  return [BigInt(numerator!), BigInt(denominator)];
}

/**
 * Return the exact value of a number's decimal digits: 0.1 is one tenth. NaN and values of other types are undefined.
 */
export function exact(number: unknown): Rational | undefined {
  if (typeof number === "bigint") return [number, 1n];
  if (typeof number !== "number" || Number.isNaN(number)) return undefined;
  if (!Number.isFinite(number)) return [number < 0 ? -1n : 1n, 0n];
  const [, digits, decimals = "", power = 0] = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number))!;
  const exponent = Number(power) - decimals.length;
  const [whole, scale] = [BigInt(digits! + decimals), 10n ** BigInt(Math.abs(exponent))];
  return exponent > 0 ? [whole * scale, 1n] : [whole, scale];
}

/** Return a number's position on a scale from low (0) to high (`cells`): (number - low) / (high - low) · cells. */
export function position(number: Rational, low: Rational, high: Rational, cells: bigint): Rational {
  const [above, range] = [difference(number, low), difference(high, low)];
  return [above[0] * range[1] * cells, above[1] * range[0]];
}

/** Return the number at the position `cells` on a scale from low (0) to high (`all`). */
export function between(low: Rational, high: Rational, cells: bigint, all: bigint): Rational {
  const range = difference(high, low);
  return [low[0] * range[1] * all + range[0] * cells * low[1], low[1] * range[1] * all];
}

/** Return log2(1 + number), for a number of at least 0, in steps of 2^-64, the same integers as in Python. */
export function logUnits([numerator, denominator]: Rational): Rational {
  let [units, rest] = [0n, ((numerator + denominator) << 128n) / denominator];
  for (; rest >> 129n; units++) rest >>= 1n;
  for (let digit = 0; digit < 64; digit++) {
    rest = (rest * rest) >> 128n;
    const carry = rest >> 129n;
    rest >>= carry;
    units = 2n * units + carry;
  }
  return [units, 1n];
}

export function difference(left: Rational, right: Rational): Rational {
  return [left[0] * right[1] - right[0] * left[1], left[1] * right[1]];
}
