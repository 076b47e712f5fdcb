// A page that asks two questions, once the user agrees, and shows what left.
import { Telemetry, historyElement } from "hearsay-ldp";
import registry from "./hearsay.js";

const collector = new URLSearchParams(location.search).get("collector") ?? "http://127.0.0.1:8080";
const telemetry = new Telemetry(registry, { collector });
const [consent, answers, said, history] = ["consent", "answers", "said", "history"].map((id) => document.getElementById(id));

consent.addEventListener("change", async () => {
  if (!consent.checked) await telemetry.forget();
  telemetry.consent = consent.checked;
  answers.disabled = !consent.checked;
  if (consent.checked) await record("dark_mode", matchMedia("(prefers-color-scheme: dark)").matches);
});

answers.addEventListener("click", async ({ target }) => {
  if (target.value) await record("tool", target.value);
});

async function record(metric, answer) {
  const recorded = await telemetry.record(metric, answer);
  said.textContent = `${metric}: ${recorded}`;
  await telemetry.flush();
  history.replaceChildren(await historyElement(telemetry));
}
