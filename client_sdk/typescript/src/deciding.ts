/** What is decided about reporting, what a stored choice still covers, and the words for both: pure. */

import type { CompiledMetric, CompiledRegistry } from "./compiled.js";
import { SUPPRESSED, covers, type Consent, type Decision, type Rule } from "./decision.js";
import { sentencesIn, type Say } from "./sentences.js";

export { SUPPRESSED, type Consent, type Decision, type Rule } from "./decision.js";

/** The questions, as `hearsay-client compile` writes them. */
export type Registry = CompiledRegistry<unknown, unknown>;

/** What a user agrees to with a question; a lower cost is covered, too. */
export type Terms = readonly [meaning: string, nanos: number, attos: number];

/** What the user chose, and what they were told when they did. The SDK in Python writes the same document. */
export interface Choice {
  readonly consent: boolean | readonly string[];
  /** The day, such as 2026-12-01. */
  readonly day: string;
  /** The collector's host. */
  readonly host: string;
  /** The app's ceilings, in billionths of epsilon; of delta, in units of 10^-18. */
  readonly ceilings: Readonly<Record<string, number>>;
  /** The questions that the choice is about. */
  readonly agreed: Readonly<Record<string, Terms>>;
  /** The questions that were refused; the others go on. */
  readonly declined: Readonly<Record<string, Terms>>;
}

/** What the user answers; undefined if they do not choose. */
export type Answer = boolean | readonly string[] | undefined;

/** Asks about questions, by name, with the lines to show, in the sentences of a language. */
export type Prompt = (names: readonly string[], lines: readonly string[], say: Say, language: string) => Promise<Answer> | Answer;

/** What `DO_NOT_TRACK` or `CI` is set to when it is as good as not set. */
const OFF = ["", "0", "false"];

/** How users say that they are not to be tracked: by a variable, or by a setting of their browser. */
const DO_NOT_TRACK = ["DO_NOT_TRACK", "Do Not Track", "Global Privacy Control"];

/** The variables by which continuous integration services are known. */
export const CI_VARIABLES = [
  "CI",
  "CONTINUOUS_INTEGRATION",
  "BUILD_NUMBER",
  "APPVEYOR",
  "BITBUCKET_BUILD_NUMBER",
  "BUILDKITE",
  "CIRCLECI",
  "CODEBUILD_BUILD_ID",
  "DRONE",
  "GITHUB_ACTIONS",
  "GITLAB_CI",
  "JENKINS_URL",
  "TEAMCITY_VERSION",
  "TF_BUILD",
  "TRAVIS",
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Return the decision of the first rule that applies.
 *
 * `files` are those of the machine's files that there are, `stored` is what `standing` returns, and `variable` names the
 * app's own variable.
 */
export function decide(environment: Environment, files: readonly string[], stored: Decision, variable = ""): Decision {
  const own = environment[variable]?.trim();
  const rules: readonly (readonly [Rule, Consent, string | undefined])[] = [
    ["do_not_track", SUPPRESSED, firstSet(environment, DO_NOT_TRACK)],
    ["ci", SUPPRESSED, firstSet(environment, CI_VARIABLES)],
    ["machine", SUPPRESSED, [...files].sort()[0]],
    ["variable", own === "1" ? true : SUPPRESSED, own && variable],
  ];
  for (const [rule, consent, by] of rules) if (by) return { consent, rule, by, withheld: [], undecided: [] };
  return stored;
}

function firstSet(environment: Environment, names: readonly string[]): string | undefined {
  return names.find((name) => !OFF.includes(environment[name]?.trim().toLowerCase() ?? ""));
}

/**
 * Return what a stored choice decides about the questions that the app has now.
 *
 * After a yes, a question that is new, or means or costs more than the user was told, is withheld until they have been
 * asked. If a ceiling was raised or the collector moved to another host, everything is, and nothing is deleted. A no
 * stays.
 */
export function standing(choice: Choice | undefined, registry: Registry, host: string): Decision {
  const everything = Object.keys(registry.metrics);
  if (!choice) return { consent: false, rule: "undecided", by: "", withheld: [], undecided: everything };
  const { consent, day: by, ceilings } = choice;
  if (!consent) return { consent, rule: "choice", by, withheld: [], undecided: [] };
  const now = ceilingsOf(registry);
  // A ceiling that is gone is raised, too.
  const isRaised = Object.entries(ceilings).some(([ceiling, most]) => !(now[ceiling]! <= most));
  if (choice.host !== host || isRaised) {
    return { consent: SUPPRESSED, rule: "changed", by, withheld: everything, undecided: everything };
  }
  const isNewTo = (known: Choice["agreed"]) => (name: string) => {
    const [meaning, nanos, attos] = termsOf(registry.metrics[name]!);
    const [knownMeaning, mostNanos, mostAttos] = Object.hasOwn(known, name) ? known[name]! : [];
    return meaning !== knownMeaning || nanos > mostNanos! || attos > mostAttos!;
  };
  const covered = everything.filter((name) => covers(consent, registry.metrics[name]!.consent));
  const withheld = covered.filter(isNewTo(choice.agreed));
  return { consent, rule: "choice", by, withheld, undecided: withheld.filter(isNewTo(choice.declined)) };
}

/** Numbers, as in JSON: beyond 2^53, what was agreed and what is asked are rounded alike. */
function termsOf({ terms, nanos, attos }: CompiledMetric): Terms {
  return [terms, Number(nanos), Number(attos)];
}

/** Return the app's ceilings; the name of the first says for which period it holds. */
function ceilingsOf({ budget: { window, per_window, ...others } }: Registry): Readonly<Record<string, number>> {
  const ceilings = Object.entries({ [`per_${window}`]: per_window, ...others });
  return Object.fromEntries(ceilings.map(([ceiling, most]) => [ceiling, Number(most)]));
}

/** Return the choice to store after a user chose, `about` all questions or, if they have agreed before, some of them. */
export function chosen(
  consent: boolean | readonly string[],
  registry: Registry,
  host: string,
  about?: readonly string[],
  before?: Choice,
): Choice {
  const metrics = Object.entries(registry.metrics).filter(([name]) => about?.includes(name) ?? true);
  const termsOfAll = (isCovered: boolean) =>
    Object.fromEntries(
      metrics.filter(([, metric]) => covers(consent, metric.consent) === isCovered).map(([name, metric]) => [name, termsOf(metric)]),
    );
  const [agreed, declined] = [termsOfAll(true), termsOfAll(false)];
  if (about && before) {
    return { ...before, agreed: { ...before.agreed, ...agreed }, declined: { ...before.declined, ...declined } };
  }
  const day = new Date().toISOString().slice(0, 10);
  return { consent, day, host, ceilings: ceilingsOf(registry), agreed, declined };
}

/**
 * Return the lines of a request: what is asked and why, where it goes, and how much a report says.
 *
 * They say, too, why somebody who has agreed is asked again.
 */
export function words(registry: Registry, decision: Decision, host: string, language: string): string[] {
  const say = sentencesIn(registry, language);
  const key = ({ choice: "again", changed: "changed" } as Partial<Record<Rule, string>>)[decision.rule] ?? "wants";
  return [
    say(`consent.${key}`, { app: registry.app, by: dateIn(say, decision.by) }),
    ...decision.undecided.map(
      (name) => `  ${say(`title.${name}`)}: ${registry.sentences[language]![`purpose.${name}`] ?? registry.metrics[name]!.purpose}`,
    ),
    say("consent.sent", { host }),
    ...["statement.how", "evidence", "consent.change"].map((each) => say(each)),
  ];
}

function dateIn(say: Say, text: string): string {
  const [year = "", month = "", day = ""] = text.split("-");
  return say("number.date", { year, month, day });
}

/** Return in words what is decided: the rule that applies, and which questions are withheld. */
export function status(registry: Registry, decision: Decision, language: string): string[] {
  const say = sentencesIn(registry, language);
  const { consent, rule, withheld } = decision;
  const keys: Partial<Record<Rule, string>> = {
    do_not_track: "suppressed",
    ci: "suppressed",
    variable: consent ? "variable_on" : "variable_off",
    changed: "paused",
    choice: consent === true ? "on" : consent ? "some" : "off",
  };
  const by = rule === "choice" || rule === "changed" ? dateIn(say, decision.by) : decision.by;
  const purposes = Array.isArray(consent) ? [...consent].sort().join(", ") : "";
  const metrics = withheld.map((name) => say(`title.${name}`)).join(", ");
  const said = say(`consent.${keys[rule] ?? rule}`, { by, purposes });
  return consent && metrics ? [said, say("consent.withheld", { metrics })] : [said];
}
