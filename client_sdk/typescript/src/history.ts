/** The user's view: what left this device, and a button that erases it. */

import type { HistoryEntry } from "./state.js";

interface Shown {
  history(): Promise<readonly HistoryEntry[]>;
  forget(): Promise<void>;
}

/** The words of the view, for translation. */
export interface Words {
  readonly caption: string;
  readonly window: string;
  readonly question: string;
  readonly outcome: string;
  readonly nothing: string;
  readonly forget: string;
  readonly forgotten: string;
  /** Said when the storage cannot be used; in English by default. */
  readonly failed?: string;
}

const ENGLISH = {
  caption: "What left this device. Every answer was changed at random before.",
  window: "When",
  question: "Question",
  outcome: "What became of it",
  nothing: "Nothing has left this device.",
  forget: "Stop, and erase this list",
  forgotten: "Erased. Nothing is recorded any more.",
  failed: "This could not be erased. Nothing is recorded here any more; please try again.",
};

/** Return an element with a table of the history, a button that opts out, and a line that says what happened. */
export async function historyElement(telemetry: Shown, words: Words = ENGLISH): Promise<HTMLElement> {
  const section = document.createElement("section");
  const entries = await telemetry.history();
  const said = add(section, "p", entries.length ? "" : words.nothing);
  said.setAttribute("role", "status");
  if (!entries.length) return section;
  const table = add(section, "table");
  add(table, "caption", words.caption);
  row(add(table, "thead"), "th", [words.window, words.question, words.outcome]);
  const body = add(table, "tbody");
  for (const { window, metric, outcome } of [...entries].reverse()) row(body, "td", [window, metric, outcome]);
  const button = add(section, "button", words.forget);
  button.setAttribute("type", "button");
  button.addEventListener("click", () => {
    void telemetry.forget().then(
      () => {
        table.remove();
        button.remove();
        said.textContent = words.forgotten;
      },
      () => (said.textContent = words.failed ?? ENGLISH.failed),
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

function add(parent: HTMLElement, name: string, text = ""): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}
