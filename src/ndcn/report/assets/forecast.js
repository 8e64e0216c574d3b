// How a forecast was chosen: the past errors of all candidates.

import { tableOf } from "./chart.js";
import { FORECAST } from "./data.js";
import { byId, details, make } from "./dom.js";
import { WORDS } from "./words.js";

function pastErrors({ name, kind, horizons, table }) {
  const head = ["", ...horizons.map(WORDS.facts.steps)];
  const scrolled = (lines) => make("div", { class: "scroll" }, tableOf([head, ...lines]));
  const few = table.slice(0, FORECAST.rows);
  const title = make("p", {}, make("strong", {}, name), make("span", { class: "quiet" }, WORDS.forecast.kind(kind)));
  const parts = [title, scrolled(few)];
  if (few.length < table.length) parts.push(details(WORDS.forecast.all(table.length), scrolled(table)));
  return parts;
}

export function startForecast() {
  if (!FORECAST) return;
  byId("forecast").hidden = false;
  byId("sentence").textContent = FORECAST.sentence;
  byId("past-errors").append(...FORECAST.features.flatMap(pastErrors));
}
