// Which classes are taken for which.

import { tableOf } from "../chart.js";
import { CLASSES, className, predictedClass, SURE } from "../classes.js";
import { ink } from "../colour.js";
import { NODES } from "../data.js";
import { make } from "../dom.js";
import { percent } from "../format.js";
import { section } from "../sections.js";
import { choose, watch } from "../state.js";

const TEXT = {
  matrix:
    "Rows are labels, columns are predictions, on the nodes that were held out. Click a number to see such a node.",
  pairs: "The classes that are confused most often, on the nodes that were held out.",
  corner: "label",
  recall: "recall",
  precision: "precision",
  columns: ["label", "predicted as", "nodes"],
  cell: (count, label, predicted) => `${count} of label ${label} predicted as ${predicted}`,
};

function nodeOf(label, predicted) {
  for (let node = 0; node < NODES; node++) {
    if (SURE.judged[node] && SURE.label[node] === label && predictedClass(node) === predicted) return node;
  }
  return null;
}

function cell(count, label, predicted, cells) {
  if (!count) return make("td", { class: "quiet" }, "0");
  const attributes = {
    type: "button",
    class: "cell",
    "aria-label": TEXT.cell(count, className(label), className(predicted)),
    onclick: () => choose(nodeOf(label, predicted)),
  };
  const button = make("button", attributes, String(count));
  cells.push({ button, count, label, right: label === predicted });
  return make("td", {}, button);
}

function matrixTable({ matrix, labelled }, cells) {
  const sums = CLASSES.map((_, k) => matrix.reduce((sum, row) => sum + row[k], 0));
  const share = (part, whole) => (whole ? percent(part / whole) : percent(null));
  const heads = [TEXT.corner, ...CLASSES, TEXT.recall].map((name) => make("th", { scope: "col" }, name));
  const lines = matrix.map((row, label) => {
    const counts = row.map((count, predicted) => cell(count, label, predicted, cells));
    const recall = make("td", { class: "quiet" }, share(row[label], labelled[label]));
    return make("tr", {}, make("th", { scope: "row" }, CLASSES[label]), ...counts, recall);
  });
  const precisions = sums.map((sum, k) => make("td", { class: "quiet" }, share(matrix[k][k], sum)));
  const last = make("tr", {}, make("th", { scope: "row" }, TEXT.precision), ...precisions, make("td", {}, ""));
  const head = make("thead", {}, make("tr", {}, ...heads));
  return make("table", { id: "matrix" }, head, make("tbody", {}, ...lines, last));
}

// The more of a label, the stronger the colour: blue where it is right, orange where it is wrong.
function shade({ button, count, label, right }, labelled) {
  const strength = Math.round(12 + 68 * Math.sqrt(count / labelled[label]));
  const colour = ink(right ? "accent" : "error");
  button.style.background = `color-mix(in srgb, ${colour} ${strength}%, transparent)`;
}

section("confusion", (part, element) => {
  if (part.pairs) {
    const lines = part.pairs.map(([label, predicted, count]) => [className(label), className(predicted), count]);
    const table = tableOf([TEXT.columns, ...lines]);
    element.append(make("p", { class: "quiet" }, TEXT.pairs), make("div", { class: "scroll" }, table));
    return;
  }
  const cells = [];
  const table = matrixTable(part, cells);
  element.append(make("p", { class: "quiet" }, TEXT.matrix), make("div", { class: "scroll" }, table));
  watch(["theme"], () => {
    for (const one of cells) shade(one, part.labelled);
  });
});
