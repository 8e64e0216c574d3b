// How a forecast was chosen: the past errors of all candidates.

import { tableOf } from "../chart.js";
import { FORECAST } from "../data.js";
import { details, make, tableRow } from "../dom.js";
import { section } from "../sections.js";
import { WORDS } from "../words.js";

const TEXT = {
  kind: (kind) => `: ${kind}`,
  all: (count) => `All ${count}`,
  measure: "Mean |error| at past forecast origins, relative to persistence (the last value).",
  median: "Forecasts are medians: as often too high as too low.",
};

function verdictLines(features) {
  const lines = features.flatMap(({ name, verdicts }) =>
    verdicts.map(({ steps, words }) => {
      const head = features.length > 1 ? `${name}, ${WORDS.facts.steps(steps)}` : WORDS.facts.steps(steps);
      return tableRow(head, words);
    }),
  );
  return make("table", { id: "verdicts" }, make("tbody", {}, ...lines));
}

function pastErrors({ name, kind, horizons, table }) {
  const head = ["", ...horizons.map(WORDS.facts.steps)];
  const scrolled = (lines) => make("div", { class: "scroll" }, tableOf([head, ...lines]));
  const few = table.slice(0, FORECAST.rows);
  const title = make("p", {}, make("strong", {}, name), make("span", { class: "quiet" }, TEXT.kind(kind)));
  const parts = [title, scrolled(few)];
  if (few.length < table.length) parts.push(details(TEXT.all(table.length), scrolled(table)));
  return parts;
}

section("forecast", ({ features }, element) => {
  element.append(
    make("div", { class: "scroll" }, verdictLines(features)),
    make("div", { id: "past-errors" }, ...features.flatMap(pastErrors)),
    make("p", { class: "quiet" }, `${TEXT.measure} ${TEXT.median}`),
  );
});
