/**
 * Asking the user once, keeping the answer, and what overrules it: what pages and Node have in common.
 *
 * Only this kit reads the environment and the stored choice: an explicit `consent` of a `Telemetry` does not.
 */

import { chosen, decide, standing, words, type Choice, type Prompt, type Registry } from "./deciding.js";
import { SUPPRESSED, consentOf, type Decision } from "./decision.js";
import { HearsayError } from "./errors.js";
import { sentencesIn } from "./sentences.js";

/** Where an app runs: what may overrule the user's choice, and where that is kept. */
export interface Place {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly files: readonly string[];
  /** Return the stored choice as a text, if there is one that can be read. */
  read(): string | null;
  /** Replace it, completely or not at all. */
  write(text: string): void;
}

/** What tells where an app reports to, and by which variable its users decide. */
interface Settings {
  /** The collector's address, as a `Telemetry` gets it. */
  readonly collector: string;
  readonly variable?: string;
}

/** What an app calls. */
export interface Kit<Own extends Settings> {
  /** Return what is decided now, without asking. */
  readonly current: (registry: Registry, settings: Own) => Decision;

  /**
   * Store what the user chose, `about` all questions or, if they have agreed before, some of them.
   *
   * Give `current` to `telemetry.consent` afterwards. If it is about some questions, the others stay as they were chosen.
   */
  readonly choose: (
    registry: Registry,
    settings: Own & { readonly consent: boolean | readonly string[]; readonly about?: readonly string[] | undefined },
  ) => void;

  /**
   * Return what is decided, after asking the user about what nobody has decided yet. What they choose is stored.
   *
   * The language is that of the sentences. The `prompt` asks in the app's own way: it gets the names of the questions
   * and the lines to show. If it returns undefined, the user is asked again at the next start.
   */
  readonly ask: (registry: Registry, settings: Own & { readonly language?: string; readonly prompt?: Prompt }) => Promise<Decision>;
}

/** Return what an app calls in some place, where a prompt is ready. */
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
    const say = sentencesIn(registry, language); // a language that is missing is a mistake even where nobody is asked
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

/** Return the stored choice; undefined if there is none, or none that can be read. */
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

