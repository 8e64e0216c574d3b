// Single nodes: chosen, pinned, compared; their curves and neighbours.

import { area, band, Chart, key, spanOf } from "./chart.js";
import {
  CONTENT,
  curve,
  FEATURES,
  FORECAST,
  framesOf,
  GRAPH,
  HELD,
  kindName,
  meanOver,
  NODES,
  nodeName,
  STATES,
  TIMES,
  value,
} from "./data.js";
import { byId, make, tableRow } from "./dom.js";
import { NOTHING, shortNumber, tableTime, timeText } from "./format.js";
import { worstFirst } from "./ranking.js";
import { choose, nodeColour, shownNodes, state, togglePin, watch } from "./state.js";
import { goTo, timeAxis } from "./timeline.js";
import { WORDS } from "./words.js";

const MOST_NEIGHBOURS = 12; // in the card
const MOST_WORST = 6;

// Curves ---------------------------------------------------------------------------------------------------------

function bandOf(node, line, colour) {
  const f = state.feature;
  if (STATES.lower) return area(TIMES, curve("lower", f, node), curve("upper", f, node), colour);
  return STATES.std ? band(TIMES, line, curve("std", f, node), colour) : null;
}

// A prediction that explodes leaves the picture.
function heightOf(truths, predictions) {
  const all = spanOf([...truths, ...predictions]);
  if (!truths.length) return all;
  const [low, high] = spanOf(truths);
  const room = Math.max(high - low, 1e-12);
  return [Math.max(all[0], low - room), Math.min(all[1], high + room)];
}

export function nodeSpec() {
  const f = state.feature;
  const hollow = [...CONTENT.kinds].map((kind) => kind !== "t");
  const series = [];
  const truths = [];
  const predictions = [];
  for (const node of shownNodes()) {
    const colour = nodeColour(node);
    const line = curve("prediction", f, node);
    const truth = curve("truth", f, node);
    const around = bandOf(node, line, colour);
    if (around) {
      series.push(around);
      predictions.push(around.low, around.high);
    }
    series.push({ kind: "line", x: TIMES, y: line, colour, thick: 2 });
    predictions.push(line);
    if (truth) {
      series.push({ kind: "dots", x: TIMES, y: truth, colour, hollow });
      truths.push(truth);
    }
  }
  return { ...timeAxis(), y: heightOf(truths, predictions), ylabel: FEATURES[f], series };
}

function nodeTable() {
  const words = WORDS.nodes;
  const kinds = Object.keys(words.columns).filter((kind) => STATES[kind]);
  const columns = shownNodes().flatMap((node) => kinds.map((kind) => [node, kind]));
  const headings = columns.map(([node, kind]) => words.column(nodeName(node), words.columns[kind]));
  const lines = TIMES.map((_, k) => {
    const values = columns.map(([node, kind]) => value(kind, state.feature, k, node));
    return [tableTime(k), kindName(k), ...values];
  });
  return [[WORDS.time.axis, "", ...headings], ...lines];
}

function nodeLegend() {
  const words = WORDS.nodes.legend;
  const trained = framesOf("t");
  const legend = make("ul", { class: "legend" });
  if (STATES.truth && trained.length) legend.append(key("●", kindName(trained[0])));
  if (HELD.length) legend.append(key("○", FORECAST ? words.later : words.held));
  legend.append(key("━", FORECAST ? words.forecast : words.prediction));
  if (STATES.lower) legend.append(key("▒", WORDS.nodes.interval(FORECAST.level)));
  if (STATES.std) legend.append(key("▒", words.band));
  return legend;
}

// Pins -----------------------------------------------------------------------------------------------------------

function chip(node) {
  const words = WORDS.nodes;
  const name = nodeName(node);
  const pinned = state.pinned.includes(node);
  const dot = make("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = nodeColour(node);
  const show = { type: "button", "aria-label": words.show(name), onclick: () => choose(node) };
  const pin = {
    type: "button",
    class: "small",
    "aria-label": `${pinned ? words.unpin : words.pin} ${name}`,
    title: pinned ? words.unpin : words.pinToCompare,
    onclick: () => togglePin(node),
  };
  return make(
    "span",
    { class: node === state.selected ? "chip chosen" : "chip" },
    make("button", show, dot, make("span", { class: "label" }, name)),
    make("button", pin, pinned ? "×" : words.pinShort),
  );
}

function fillPins() {
  const chips = shownNodes().map(chip);
  if (!chips.length) chips.push(make("span", { class: "quiet" }, WORDS.nodes.noneChosen));
  byId("pins").replaceChildren(...chips);
}

// The card beside them ---------------------------------------------------------------------------------------------

function nodeButton(node) {
  return make("button", { type: "button", class: "link", onclick: () => choose(node) }, nodeName(node));
}

function intervalText(node) {
  const [low, high] = ["lower", "upper"].map((kind) => value(kind, state.feature, state.frame, node));
  return Number.isNaN(low) ? NOTHING : WORDS.nodes.range(shortNumber(low), shortNumber(high));
}

function valueTable(node) {
  const words = WORDS.nodes;
  const { feature, frame } = state;
  const kinds = Object.keys(words.values).filter((kind) => STATES[kind]);
  const lines = kinds.map((kind) => tableRow(words.values[kind], shortNumber(value(kind, feature, frame, node))));
  if (STATES.lower) lines.push(tableRow(words.interval(FORECAST.level), intervalText(node)));
  const title = make("caption", {}, words.at(FEATURES[feature], timeText(frame)));
  return make("table", { class: "values" }, title, make("tbody", {}, ...lines));
}

function rankOf(node) {
  const ranked = worstFirst();
  if (!ranked?.rank.has(node)) return [];
  const error = shortNumber(ranked.errors[node]);
  const words = WORDS.nodes.meanError(meanOver(), error, ranked.rank.get(node), NODES);
  return [make("p", { class: "quiet" }, words)];
}

function neighboursOf(node) {
  const near = [...GRAPH.neighbours(node)];
  const names = near.slice(0, MOST_NEIGHBOURS).map(nodeButton);
  const hidden = near.length - names.length;
  if (hidden) names.push(make("span", { class: "quiet" }, WORDS.nodes.more(hidden)));
  return [make("h4", {}, WORDS.nodes.neighbours(near.length)), make("p", { class: "names" }, ...names)];
}

function largestErrors() {
  if (!worstFirst()) return [];
  const names = worstFirst().order.slice(0, MOST_WORST).map(nodeButton);
  return [make("h4", {}, WORDS.nodes.largestErrors), make("p", { class: "names" }, ...names)];
}

function fillCard() {
  const node = state.selected;
  const parts = [];
  if (node !== null) {
    const name = make("h3", { class: "node-name" }, nodeName(node));
    parts.push(name, valueTable(node), ...rankOf(node), ...neighboursOf(node));
  }
  byId("node-card").replaceChildren(...parts, ...largestErrors());
}

export function startNodes() {
  const chart = new Chart(byId("node-chart"), {
    title: "",
    name: WORDS.nodes.chart,
    height: 300,
    spec: nodeSpec,
    table: nodeTable,
    legend: nodeLegend(),
    pick: goTo,
  });
  watch(["frame", "selected", "pinned", "feature", "theme", "size"], () => {
    chart.draw();
    fillCard();
  });
  watch(["selected", "pinned", "theme"], fillPins);
  watch(["selected", "pinned", "feature"], () => chart.fill());
}
