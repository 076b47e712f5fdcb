/** The user's view: the reports sent from this device, and a button that erases them. */

import type { Say } from "./sentences.js";
import type { Left } from "./state.js";

/** A report that was sent from the device, in words for the user. */
export interface HistoryEntry extends Left {
  /** The reported answer; undefined if the registry no longer contains the metric. */
  readonly reported?: string | undefined;
}

interface Shown {
  history(language: string): Promise<readonly HistoryEntry[]>;
  sentences(language: string): Say;
  forget(): Promise<void>;
}

/**
 * Return an element with a table of the history, a button that opts out, and a line that shows the result.
 *
 * `whenForgotten` is called after the user has opted out, for example to store this choice.
 */
export async function historyElement(telemetry: Shown, language = "en", whenForgotten?: () => void): Promise<HTMLElement> {
  const say = telemetry.sentences(language);
  const section = document.createElement("section");
  section.lang = language;
  const entries = await telemetry.history(language);
  const said = add(section, "p", entries.length ? "" : say("history.nothing"));
  said.setAttribute("role", "status");
  if (!entries.length) return section;
  const table = add(section, "table");
  const isKnown = entries.every(({ reported }) => reported !== undefined);
  const evidence = say(isKnown ? "evidence" : "evidence.unknown");
  add(table, "caption", `${say("history.caption")}. ${say("history.randomized")} ${evidence}`);
  row(add(table, "thead"), "th", ["window", "metric", "reported", "outcome"].map((head) => say(`history.${head}`)));
  const body = add(table, "tbody");
  for (const { window, metric, symbol, reported, outcome } of [...entries].reverse()) {
    const words = reported ?? say("reported.symbol", { symbol: String(symbol) });
    row(body, "td", [window, say(`title.${metric}`), words, say(`outcome.${outcome}`)]);
  }
  const button = add(section, "button", say("history.forget"));
  button.setAttribute("type", "button");
  button.addEventListener("click", () => {
    void telemetry.forget().then(whenForgotten).then(
      () => {
        table.remove();
        button.remove();
        said.textContent = say("history.forgotten");
      },
      () => (said.textContent = say("history.failed")),
    );
  });
  return section;
}

function row(parent: HTMLElement, cell: "th" | "td", texts: readonly string[]): void {
  const line = add(parent, "tr");
  for (const text of texts) {
    const made = add(line, cell, text);
    if (cell === "th") made.setAttribute("scope", "col");
  }
}

export function add(parent: HTMLElement, name: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}
