/**
 * Asks for consent in pages: shows a dialog, and stores the choice in `localStorage`. `forget` does not delete the
 * choice.
 *
 *     telemetry.consent = await ask(registry, { collector });
 */

import type { Answer, Prompt } from "./deciding.js";
import { add } from "./history.js";
import { kit } from "./kit.js";

export * from "./deciding.js";

export const { current, choose, ask } = /* @__PURE__ */ kit<{ readonly collector: string }>(({ app }) => {
  const { doNotTrack, globalPrivacyControl } = (globalThis.navigator ?? {}) as Navigator & { globalPrivacyControl?: boolean };
  return {
    environment: {
      ...(doNotTrack === "1" && { "Do Not Track": "1" }),
      ...(globalPrivacyControl && { "Global Privacy Control": "1" }),
    },
    files: [],
    read: () => localStorage.getItem(keyOf(app)),
    write: (text) => localStorage.setItem(keyOf(app), text),
  };
}, /* @__PURE__ */ dialog());

function keyOf(app: string): string {
  return `hearsay ${app} consent`;
}

/**
 * Return a prompt that shows a modal dialog with two equal buttons. Neither button has the focus, and Escape selects
 * neither. If `statement` is the address of the app's statement, the dialog links to it.
 */
export function dialog(statement?: string): Prompt {
  return (names, [wants, ...lines], say, language) => {
    const shown = add(document.body, "dialog") as HTMLDialogElement;
    shown.lang = language;
    shown.setAttribute("aria-label", wants!);
    const form = add(shown, "form") as HTMLFormElement;
    form.method = "dialog";
    const heading = add(form, "h2", wants);
    heading.tabIndex = -1;
    const list = add(form, "ul");
    for (const line of lines.splice(0, names.length)) add(list, "li", line.trim());
    for (const line of lines) add(form, "p", line);
    if (statement !== undefined) {
      const link = add(add(form, "p"), "a", say("consent.reveals")) as HTMLAnchorElement;
      link.href = statement;
      link.target = "_blank";
    }
    add(form, "p", say("consent.may"));
    for (const answer of ["yes", "no"]) (add(form, "button", say(`consent.${answer}`)) as HTMLButtonElement).value = answer;
    shown.showModal();
    heading.focus(); // otherwise a browser would focus the first button, and Enter would press it
    return new Promise<Answer>((resolve) => {
      shown.addEventListener("close", () => {
        shown.remove();
        resolve({ yes: true, no: false }[shown.returnValue]);
      });
    });
  };
}
