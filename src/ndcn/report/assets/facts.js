// The few numbers and sentences at the top of the page.

import { CONTENT, FORECAST, FRAMES, framesOf, partNames } from "./data.js";
import { byId, make } from "./dom.js";
import { factElement, networkFact } from "./factlist.js";
import { percent, shortNumber, spanText } from "./format.js";
import { WORDS } from "./words.js";

function bestBaseline(part) {
  const baselines = CONTENT.scores.rows.slice(1).map((row) => [row.parts[part]?.normalized_l1, row.name]);
  const measured = baselines.filter(([error]) => Number.isFinite(error));
  const [best] = measured.sort((a, b) => a[0] - b[0]);
  return best ? WORDS.facts.bestBaseline(percent(best[0]), best[1]) : null;
}

function errorFact(part) {
  const { normalized_l1: share, l1 } = CONTENT.scores.rows[0].parts[part];
  const name = part === "train" ? WORDS.facts.trainError : WORDS.facts.error(partNames[part]);
  return [name, share === null ? shortNumber(l1) : percent(share), bestBaseline(part)];
}

// Errors on the training snapshots only where there are no others.
function errorFacts() {
  if (!CONTENT.scores) return [];
  const { parts } = CONTENT.scores.rows[0];
  const held = ["interpolation", "extrapolation"].filter((part) => parts[part]);
  if (held.length) return held.map(errorFact);
  return parts.train ? [errorFact("train")] : [];
}

function timeFacts() {
  const words = WORDS.facts;
  const facts = [];
  const data = framesOf("tiega");
  if (FORECAST) {
    const ahead = framesOf("ef");
    facts.push([words.forecast, words.steps(FORECAST.horizon), spanText(ahead[0], ahead.at(-1))]);
  }
  if (data.length) facts.push([words.snapshots, String(data.length), spanText(0, data.at(-1))]);
  else if (!FORECAST) facts.push([words.moments, String(FRAMES), spanText(0, FRAMES - 1)]);
  return facts;
}

function modelFact() {
  const { model, members, parameters } = CONTENT;
  const notes = [];
  if (members > 1) notes.push(WORDS.facts.members(members));
  if (parameters) notes.push(WORDS.facts.parameters(parameters));
  return [WORDS.facts.model, model, notes.join(", ") || null];
}

function subtitle() {
  const words = WORDS.page.subtitle;
  if (FORECAST) return CONTENT.states.truth ? words.forecast : words.forecastAlone;
  return CONTENT.states.truth ? words.compared : words.alone;
}

export function startFacts() {
  const facts = [...errorFacts(), networkFact(), ...timeFacts(), modelFact()];
  byId("facts").replaceChildren(...facts.map(factElement));
  byId("subtitle").textContent = subtitle();
  byId("notes").replaceChildren(...CONTENT.notes.map((words) => make("p", { class: "note" }, words)));
}
