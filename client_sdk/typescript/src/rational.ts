/** Exact numbers: fractions of two big integers, from texts and from the digits of a number. */

export interface Rational {
  readonly numerator: bigint;
  /** Above 0. */
  readonly denominator: bigint;
}

/** Return the fraction of a text such as `-1/3`. */
export function fraction(text: string): Rational {
  const [numerator, denominator = "1"] = text.split("/");
  return { numerator: BigInt(numerator!), denominator: BigInt(denominator) };
}

/** Return a finite number exactly as its digits say: 0.1 is a tenth. Undefined if it is none. */
export function exact(number: unknown): Rational | undefined {
  if (typeof number === "bigint") return { numerator: number, denominator: 1n };
  if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
  const [, digits, decimals = "", power = "0"] = /^(-?\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number))!;
  const exponent = Number(power) - decimals.length;
  const numerator = BigInt(digits! + decimals) * (exponent > 0 ? 10n ** BigInt(exponent) : 1n);
  return { numerator, denominator: exponent < 0 ? 10n ** BigInt(-exponent) : 1n };
}

/** Return (number - low) / (high - low) times `cells`. */
export function position(number: Rational, low: Rational, high: Rational, cells: bigint): Rational {
  const above = difference(number, low);
  const range = difference(high, low);
  return {
    numerator: above.numerator * range.denominator * cells,
    denominator: above.denominator * range.numerator,
  };
}

function difference(left: Rational, right: Rational): Rational {
  return {
    numerator: left.numerator * right.denominator - right.numerator * left.denominator,
    denominator: left.denominator * right.denominator,
  };
}
