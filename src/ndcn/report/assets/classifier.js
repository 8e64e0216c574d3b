// The page of a node classifier: maps of labels, predictions and confidence, single nodes, and the sections.

import { begin } from "./begin.js";
import { key } from "./chart.js";
import {
  CLASSES,
  className,
  contributorsOf,
  isWrong,
  leastSure,
  likeliestOf,
  SURE,
  splitName,
  unpackClasses,
  WHY,
} from "./classes.js";
import { classColour } from "./colour.js";
import { CONTENT, GRAPH, nodeName, unpack } from "./data.js";
import { byId, make, tableRow } from "./dom.js";
import { factElement, networkFact } from "./factlist.js";
import { percent, shortNumber } from "./format.js";
import { setLayout, startPanels } from "./panels.js";
import { startSearch } from "./search.js";
import { startSections } from "./sections.js";
import { change, choose, state, watch } from "./state.js";
import { startTheme, switchTheme } from "./theme.js";
import { WORDS } from "./words.js";

const MOST_NEIGHBOURS = 12;
const MOST_IN_LEGEND = 24;
const words = WORDS.classes;

// At the top -----------------------------------------------------------------------------------------------------

function startTop() {
  const { accuracy, judged, ece, temperature, T, trained } = CONTENT.facts;
  const how = temperature === null ? words.asTrained : words.calibrated(shortNumber(temperature));
  const facts = [
    [words.accuracy, percent(accuracy), words.onNodes(judged)],
    [words.ece, percent(ece), how],
    networkFact(),
    [words.classCount, String(CLASSES.length), trained ? words.trainedOn(trained) : null],
  ];
  if (T !== null) facts.push([words.time, shortNumber(T), null]);
  byId("facts").replaceChildren(...facts.map(factElement));
  byId("subtitle").textContent = words.subtitle;
  byId("notes").replaceChildren(...CONTENT.notes.map((note) => make("p", { class: "note" }, note)));
}

function fillLegend() {
  const keys = CLASSES.slice(0, MOST_IN_LEGEND).map((name, code) => key("●", name, classColour(code)));
  if (CLASSES.length > keys.length) keys.push(make("li", {}, WORDS.nodes.more(CLASSES.length - keys.length)));
  byId("legend").replaceChildren(...keys, make("li", { class: "quiet" }, words.paler));
}

// A node ---------------------------------------------------------------------------------------------------------

function nodeButton(node) {
  return make("button", { type: "button", class: "link", onclick: () => choose(node) }, nodeName(node));
}

function neighboursOf(node) {
  const near = [...GRAPH.neighbours(node)];
  const names = near.slice(0, MOST_NEIGHBOURS).map(nodeButton);
  if (near.length > names.length) {
    names.push(make("span", { class: "quiet" }, WORDS.nodes.more(near.length - names.length)));
  }
  return [make("h4", {}, WORDS.nodes.neighbours(near.length)), make("p", { class: "names" }, ...names)];
}

function probabilityTable(node) {
  const lines = likeliestOf(node).map(([code, p]) => tableRow(className(code), words.percent(p)));
  const caption = make("caption", {}, words.probabilities);
  return make("table", { class: "values" }, caption, make("tbody", {}, ...lines));
}

function labelLine(node) {
  const verdict = isWrong(node) ? words.wrong : words.right;
  const known = SURE.label[node] < 0 ? words.unlabelled : words.labelled(className(SURE.label[node]), verdict);
  return make("p", { class: "quiet", id: "node-label" }, [known, splitName(node)].filter(Boolean).join(" "));
}

function contributorRow([node, contribution]) {
  const label = SURE.label[node] < 0 ? "" : className(SURE.label[node]);
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, nodeButton(node)),
    make("td", {}, label),
    make("td", {}, CONTENT.classes.splits[SURE.split[node]]),
    make("td", { class: "number" }, words.signed(contribution)),
  );
}

function plainRow(name, contribution) {
  const number = make("td", { class: "number" }, words.signed(contribution));
  const cells = [make("td", {}, ""), make("td", {}, ""), number];
  return make("tr", { class: "quiet" }, make("th", { scope: "row" }, name), ...cells);
}

function whyTable(node) {
  const [[first], [second]] = likeliestOf(node);
  const most = contributorsOf(node);
  const shown = most.reduce((sum, [, contribution]) => sum + contribution, 0);
  const rest = WHY.logOdds[node] - WHY.bias[node] - shown;
  const numbered = words.whyColumns.length - 1;
  const head = words.whyColumns.map((name, k) =>
    make("th", { scope: "col", class: k === numbered ? "number" : "" }, name),
  );
  const body = [...most.map(contributorRow), plainRow(words.rest, rest), plainRow(words.bias, WHY.bias[node])];
  body.push(plainRow(words.sum, WHY.logOdds[node]));
  const table = make(
    "table",
    { id: "why", class: "texts" },
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...body),
  );
  return [
    make("h3", {}, words.whyTitle),
    make("p", { class: "quiet" }, words.why(className(first), className(second))),
    make("div", { class: "scroll" }, table),
  ];
}

// A word as a shell takes it.
function quoted(word) {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function fillNode() {
  const node = state.selected;
  if (node === null) {
    byId("node-card").replaceChildren();
    byId("node-why").replaceChildren(make("p", { class: "quiet" }, words.noneChosen));
    return;
  }
  const title = make("h3", { class: "node-name" }, nodeName(node));
  byId("node-card").replaceChildren(title, probabilityTable(node), labelLine(node), ...neighboursOf(node));
  const name = GRAPH.names ? GRAPH.names[node] : String(node);
  const command = words.command(quoted(CONTENT.model_name), quoted(name));
  const elsewhere = [make("p", { class: "quiet" }, words.elsewhere), make("code", {}, command)];
  const without = CONTENT.explained ? elsewhere : [make("p", { class: "quiet" }, words.notExplained)];
  byId("node-why").replaceChildren(...(WHY.nodes ? whyTable(node) : without));
}

function startNode() {
  watch(["selected", "theme"], fillNode);
}

// Keys -----------------------------------------------------------------------------------------------------------

const KEYS = {
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
  l: () => setLayout(state.layout === "square" ? "network" : "square"),
  d: switchTheme,
};

function startKeys() {
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const action = KEYS[event.key.toLowerCase()];
    if (!action) return;
    action();
    event.preventDefault();
  });
}

begin(async () => {
  await unpack();
  await unpackClasses();
  startTop();
  startPanels();
  startSearch();
  startNode();
  startSections();
  startKeys();
  startTheme();
  watch(["theme"], fillLegend);
  change({ selected: leastSure(1)[0] });
});
