/**
 * Pure functions that decide whether to report and whether a stored choice still applies, and that describe the result.
 */

import type { CompiledMetric, CompiledRegistry } from "./compiled.js";
import { SUPPRESSED, covers, type Consent, type Decision, type Rule } from "./decision.js";
import { sentencesIn, type Say } from "./sentences.js";

export { SUPPRESSED, type Consent, type Decision, type Rule } from "./decision.js";

/** The metrics, as `hearsay-client compile` writes them. */
export type Registry = CompiledRegistry<unknown, unknown>;

/** The terms of an agreement to a metric. The agreement also covers lower costs. */
export type Terms = readonly [meaning: string, nanos: number, attos: number];

/** The user's choice, and the terms that the user saw. The Python SDK writes the same document. */
export interface Choice {
  readonly consent: boolean | readonly string[];
  /** The day of the choice, such as 2026-12-01. */
  readonly day: string;
  /** The collector's host. */
  readonly host: string;
  /** The app's ceilings, in billionths of epsilon or, for delta, in units of 10^-18. */
  readonly ceilings: Readonly<Record<string, number>>;
  /** Each metric that the user agreed to, with its terms. */
  readonly agreed: Readonly<Record<string, Terms>>;
  /** Each metric that the user refused, with its terms. */
  readonly declined: Readonly<Record<string, Terms>>;
}

/** The user's answer; undefined if the user does not choose. */
export type Answer = boolean | readonly string[] | undefined;

/** Shows these lines, and asks the user about the metrics with these names. `say` gives the wording in `language`. */
export type Prompt = (names: readonly string[], lines: readonly string[], say: Say, language: string) => Promise<Answer> | Answer;

/** Values with which `DO_NOT_TRACK` or `CI` counts as unset. */
const OFF = ["", "0", "false"];

/** The variable, or the settings of a browser, with which users say that they do not want to be tracked. */
const DO_NOT_TRACK = ["DO_NOT_TRACK", "Do Not Track", "Global Privacy Control"];

/** The environment variables that identify continuous integration services. */
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
 * `files` contains the machine's files that exist, `stored` is the result of `standing`, and `variable` is the name of
 * the app's own variable.
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
 * Return the decision that follows from a stored choice, for the app's current metrics.
 *
 * After a yes, new metrics are withheld until the user has been asked about them. So are metrics with a new meaning or
 * a higher cost. If a ceiling was raised or the collector moved to another host, every metric is withheld, and nothing
 * is deleted. A user who has declined is not asked again.
 */
export function standing(choice: Choice | undefined, registry: Registry, host: string): Decision {
  const everything = Object.keys(registry.metrics);
  if (!choice) return { consent: false, rule: "undecided", by: "", withheld: [], undecided: everything };
  const { consent, day: by, ceilings } = choice;
  if (!consent) return { consent, rule: "choice", by, withheld: [], undecided: [] };
  const now = ceilingsOf(registry);
  // a ceiling that was removed counts as raised
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

/** Return a metric's terms. Costs beyond 2^53 are always rounded in the same way. */
function termsOf({ terms, nanos, attos }: CompiledMetric): Terms {
  return [terms, Number(nanos), Number(attos)];
}

/** Return the app's ceilings by name, with `per_window` renamed to its period, such as `per_week`. */
function ceilingsOf({ budget: { window, per_window, ...others } }: Registry): Readonly<Record<string, number>> {
  const ceilings = Object.entries({ [`per_${window}`]: per_window, ...others });
  return Object.fromEntries(ceilings.map(([ceiling, most]) => [ceiling, Number(most)]));
}

/**
 * Return the choice to store, after the user has chosen about all metrics or, after an earlier choice, about some
 * metrics.
 */
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
 * Return the lines that ask for consent: the metrics, their reasons, the collector, and how much a report reveals.
 *
 * If the user has agreed before, the lines explain why the user is asked again.
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

/** Return lines about a decision: the rule behind it, and the withheld metrics. */
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
