// How a forecast was chosen: the past errors of all candidates.

import { tableOf } from "../chart.js";
import { FORECAST } from "../data.js";
import { details, make } from "../dom.js";
import { section } from "../sections.js";
import { WORDS } from "../words.js";

const TEXT = {
  kind: (kind) => `: ${kind}`,
  all: (count) => `All ${count}`,
  measure: "Mean |error| at past forecast origins, relative to persistence (the last value).",
};

function pastErrors({ name, kind, horizons, table }) {
  const head = ["", ...horizons.map(WORDS.facts.steps)];
  const scrolled = (lines) => make("div", { class: "scroll" }, tableOf([head, ...lines]));
  const few = table.slice(0, FORECAST.rows);
  const title = make("p", {}, make("strong", {}, name), make("span", { class: "quiet" }, TEXT.kind(kind)));
  const parts = [title, scrolled(few)];
  if (few.length < table.length) parts.push(details(TEXT.all(table.length), scrolled(table)));
  return parts;
}

section("forecast", ({ sentence, features }, element) => {
  element.append(
    make("p", { id: "sentence" }, sentence),
    make("div", { id: "past-errors" }, ...features.flatMap(pastErrors)),
    make("p", { class: "quiet" }, TEXT.measure),
  );
});
