import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { historyElement, type HistoryEntry } from "../src/history.js";
import { sentencesIn } from "../src/sentences.js";
import { SAID } from "./vectors.js";

/** As much of an element as the history needs. */
class FakeElement {
  textContent = "";
  readonly children: FakeElement[] = [];
  #click: (() => void) | undefined;

  constructor(readonly name: string) {}

  append(child: FakeElement): void {
    this.children.push(child);
  }

  setAttribute(): void {}

  remove(): void {}

  addEventListener(_: string, click: () => void): void {
    this.#click = click;
  }

  async click(): Promise<void> {
    this.#click!();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const ENTRY = { metric: "a", edition: "0123456789ab", window: "2026-11-18", symbol: 1, outcome: "window_closed" };
const EVIDENCE = { en: "Weak.", de: "Schwach." };

/** Show a history in a language. */
async function shownIn(
  context: TestContext,
  language: "en" | "de",
  { reported = ["true"] as readonly string[], forget = async () => undefined as void, whenForgotten = () => {} } = {},
): Promise<FakeElement> {
  const page = globalThis as { document?: unknown };
  context.after(() => delete page.document);
  page.document = { createElement: (name: string) => new FakeElement(name) };
  const texts = { ...SAID.sentences[language], evidence: EVIDENCE[language] };
  const sentences = (asked: string) => sentencesIn({ sentences: { [language]: texts } }, asked);
  const history = async (): Promise<HistoryEntry[]> => [{ ...ENTRY, reported: reported[0] }];
  return (await historyElement({ history, sentences, forget }, language, whenForgotten)) as unknown as FakeElement;
}

/** Return all texts of an element and of those within it. */
function texts({ textContent, children }: FakeElement): string[] {
  return [textContent, ...children.flatMap(texts)].filter(Boolean);
}

/** Show a history, press its button, and return what is said. */
async function saidAfterForget(context: TestContext, forget: () => Promise<void>, whenForgotten = () => {}): Promise<string> {
  const shown = await shownIn(context, "en", { forget, whenForgotten });
  await shown.children.find(({ name }) => name === "button")!.click();
  return shown.children.find(({ name }) => name === "p")!.textContent;
}

test("the history shows what was reported, in words, and how much one report says", async (context) => {
  assert.deepEqual(texts(await shownIn(context, "en")), [
    "What left this device. Each report contains a randomized answer, which may differ from yours. Weak.",
    ...["When", "Question", "What was reported", "What became of it"],
    ...["2026-11-18", "a", "true", "refused: the period is closed"],
    "Stop, and erase this list",
  ]);
  const german = texts(await shownIn(context, "de", { reported: ["ja"] }));
  assert.ok(german[0]!.endsWith(" Schwach."));
  assert.deepEqual(german.slice(5, 9), ["2026-11-18", "a", "ja", "abgelehnt: Der Zeitraum ist abgeschlossen"]);
});

test("of a question that the registry lacks, the symbol is shown and nothing is promised", async (context) => {
  const [caption, , , , , , , reported] = texts(await shownIn(context, "en", { reported: [] }));
  assert.equal(reported, "symbol 1");
  assert.ok(caption!.includes("depends on its question"));
  assert.ok(!caption!.includes("Weak."));
});

test("who erases the history is told that it is erased, or that it is not", async (context) => {
  assert.match(await saidAfterForget(context, async () => undefined), /^Erased/);
  const fails = () => Promise.reject(new Error("full"));
  assert.match(await saidAfterForget(context, fails, () => assert.fail("called too early")), /could not be erased/);
  const isFull = () => { throw new Error("full"); }; // the choice is not stored
  assert.match(await saidAfterForget(context, async () => undefined, isFull), /could not be erased/);
});
