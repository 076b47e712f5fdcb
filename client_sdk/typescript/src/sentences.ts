/** The texts for users: the module's sentences, and numbers in the format of a language. */

import type { CompiledRegistry } from "./compiled.js";
import { HearsayError } from "./errors.js";
import type { Rational } from "./rational.js";

/** Returns a sentence with its placeholders replaced, or the code if there is no sentence for a code. */
export type Say = (key: string, values?: Readonly<Record<string, string>>) => string;

/** Return the sentences of a language. */
export function sentencesIn({ sentences }: Pick<CompiledRegistry, "sentences">, language: string): Say {
  const texts = sentences[language];
  if (!texts) throw new HearsayError(`there are no sentences in ${language}; name one of: ${Object.keys(sentences).join(", ")}`);
  return (key, values = {}) =>
    (texts[key] ?? key.slice(key.indexOf(".") + 1)).replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all);
}

/** Return a number rounded half up to some decimals, without trailing zeros. */
export function written([numerator, denominator]: Rational, decimals: number, say: Say): string {
  const scale = 10n ** BigInt(decimals);
  const size = numerator < 0n ? -numerator : numerator;
  const units = (2n * size * scale + denominator) / (2n * denominator);
  const whole = String(units / scale).replace(/\B(?=(\d{3})+$)/g, say("number.thousands"));
  const behind = String(units % scale).padStart(decimals, "0").replace(/0+$/, "");
  return `${numerator < 0n && units ? "-" : ""}${whole}${behind && say("number.decimal") + behind}`;
}
