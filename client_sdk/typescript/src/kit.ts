/**
 * Asks the user once, stores the choice, and applies the rules that override it. Pages and Node share this code.
 *
 * Only this kit reads the environment and the stored choice. A `Telemetry` with an explicit `consent` reads neither.
 */

import { chosen, decide, standing, words, type Choice, type Prompt, type Registry } from "./deciding.js";
import { SUPPRESSED, consentOf, type Decision } from "./decision.js";
import { HearsayError } from "./errors.js";
import { sentencesIn } from "./sentences.js";

/** The environment of an app: settings that may override the user's choice, and the stored choice. */
export interface Place {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: readonly string[];
  /** Return the stored choice as a text; null if missing or unreadable. */
  read(): string | null;
  /** Replace the stored choice completely, or leave it unchanged. */
  write(text: string): void;
}

/** Where an app sends reports, and the variable with which its users can decide. */
interface Settings {
  /** The collector's address, as for a `Telemetry`. */
  readonly collector: string;
  readonly variable?: string;
}

/** The functions that an app calls. */
export interface Kit<Own extends Settings> {
  /** Return the current decision, without asking the user. */
  readonly current: (registry: Registry, settings: Own) => Decision;

  /**
   * Store the user's choice about all metrics or, after an earlier choice, about some of them (`about`).
   *
   * Afterwards, set `telemetry.consent` to the result of `current`. The earlier choice remains for all other metrics.
   */
  readonly choose: (
    registry: Registry,
    settings: Own & { readonly consent: boolean | readonly string[]; readonly about?: readonly string[] | undefined },
  ) => void;

  /**
   * Ask the user about all undecided metrics, store the choice, and return the decision.
   *
   * `language` selects the sentences. `prompt` asks in the app's own way. It gets the names of the metrics and the
   * lines to show. If it returns undefined, the user is asked again at the next start.
   */
  readonly ask: (registry: Registry, settings: Own & { readonly language?: string; readonly prompt?: Prompt }) => Promise<Decision>;
}

/**
 * Return the functions that an app calls. `placeOf` returns the app's environment, and `ready` is the default prompt.
 */
export function kit<Own extends Settings>(placeOf: (registry: Registry, settings: Own) => Place, ready: Prompt): Kit<Own> {
  const current: Kit<Own>["current"] = (registry, settings) => {
    const place = placeOf(registry, settings);
    const stored = standing(storedIn(place), registry, hostOf(settings));
    return decide(place.environment, place.files, stored, settings.variable);
  };
  const choose: Kit<Own>["choose"] = (registry, settings) => {
    const place = placeOf(registry, settings);
    const consent = consentOf(settings.consent);
    if (consent === SUPPRESSED) throw new HearsayError("a choice is true, false or a list of purposes");
    const choice = chosen(consent, registry, hostOf(settings), settings.about, storedIn(place));
    place.write(JSON.stringify(choice, null, 1));
  };
  const ask: Kit<Own>["ask"] = async (registry, settings) => {
    const { language = "en", prompt = ready } = settings;
    const say = sentencesIn(registry, language); // throws if the language is missing, even if nobody is asked
    const decision = current(registry, settings);
    if (decision.undecided.length === 0) return decision;
    const consent = await prompt(decision.undecided, words(registry, decision, hostOf(settings), language), say, language);
    if (consent === undefined) return decision;
    try {
      choose(registry, { ...settings, consent, about: decision.rule === "choice" ? decision.undecided : undefined });
    } catch (error) {
      if (error instanceof HearsayError) throw error;
      // a full disk must not end the app
      console.warn(`hearsay: the user's choice cannot be stored, and they will be asked again: ${(error as Error).message}`);
    }
    return current(registry, settings);
  };
  return { current, choose, ask };
}

function hostOf({ collector }: Settings): string {
  return new URL(collector).hostname;
}

/** Return the stored choice; undefined if missing or unreadable. */
function storedIn(place: Place): Choice | undefined {
  try {
    const choice = JSON.parse(place.read()!) as Choice;
    const { consent, day, host, ceilings, agreed, declined } = choice;
    const terms = [agreed, declined].flatMap((known) => Object.values(known));
    const numbers = [...Object.values(ceilings), ...terms.flatMap(([, ...cost]) => cost)];
    const isWhole = numbers.every(Number.isFinite) && terms.every(({ length }) => length === 3);
    const isRead = isWhole && typeof host === "string" && /^\d+-\d\d-\d\d$/.test(day) && consentOf(consent) !== SUPPRESSED;
    return isRead ? choice : undefined;
  } catch {
    return undefined;
  }
}

