import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { historyElement } from "../src/history.js";

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

const ENTRY = { metric: "a", edition: "0123456789ab", window: "2026-11-18", symbol: 1, outcome: "accepted" };

/** Show a history, press its button, and return what is said. */
async function saidAfterForget(context: TestContext, forget: () => Promise<void>): Promise<string> {
  const page = globalThis as { document?: unknown };
  context.after(() => delete page.document);
  page.document = { createElement: (name: string) => new FakeElement(name) };
  const shown = (await historyElement({ history: async () => [ENTRY], forget })) as unknown as FakeElement;
  await shown.children.find(({ name }) => name === "button")!.click();
  return shown.children.find(({ name }) => name === "p")!.textContent;
}

test("who erases the history is told that it is erased, or that it is not", async (context) => {
  assert.match(await saidAfterForget(context, async () => undefined), /^Erased/);
  assert.match(await saidAfterForget(context, () => Promise.reject(new Error("full"))), /could not be erased/);
});
