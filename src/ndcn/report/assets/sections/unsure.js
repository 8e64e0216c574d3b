// The nodes whose class is least certain.

import { className, isWrong, leastSure, likeliestOf, SURE } from "../classes.js";
import { nodeName } from "../data.js";
import { make } from "../dom.js";
import { percent } from "../format.js";
import { section } from "../sections.js";
import { choose } from "../state.js";

const TEXT = {
  note: "The likeliest class of these nodes is least probable. Click one to see where its class came from.",
  columns: ["node", "likeliest", "runner-up", "label"],
  unknown: "not known",
  wrong: " (wrong)",
};
const MOST = 12;

const chance = ([code, p]) => `${className(code)}, ${percent(p)}`;

function row(node) {
  const [first, second] = likeliestOf(node);
  const label = SURE.label[node] < 0 ? TEXT.unknown : className(SURE.label[node]);
  const name = make("button", { type: "button", class: "link", onclick: () => choose(node) }, nodeName(node));
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, name),
    make("td", {}, chance(first)),
    make("td", {}, chance(second)),
    make("td", {}, label + (isWrong(node) ? TEXT.wrong : "")),
  );
}

section("unsure", (_, element) => {
  const head = TEXT.columns.map((name) => make("th", { scope: "col" }, name));
  const table = make(
    "table",
    { id: "unsure-table", class: "texts" },
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...leastSure(MOST).map(row)),
  );
  element.append(make("p", { class: "quiet" }, TEXT.note), make("div", { class: "scroll" }, table));
});
