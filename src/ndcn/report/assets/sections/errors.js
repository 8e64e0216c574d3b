// Errors over time and over nodes, and scores beside those of baselines.

import { Chart, key } from "../chart.js";
import { ink, palette } from "../colour.js";
import { CONTENT, FEATURES, FIRST_TIME, FORECAST, meanOver, NODES, partNames } from "../data.js";
import { make } from "../dom.js";
import { NOTHING, roundedNumber, TIME_LABEL } from "../format.js";
import { worstFirst } from "../ranking.js";
import { section } from "../sections.js";
import { change, choose, nodeColour, shownNodes, state, watch } from "../state.js";
import { goTo, timeAxis } from "../timeline.js";
import { counted } from "../words.js";

const TEXT = {
  overTime: "Error over time",
  mean: (feature) => `mean |error| of ${feature}`,
  overNodes: "Distribution over nodes",
  meanOfNode: (over) => `mean |error| of a node ${over}`,
  nodes: "nodes",
  bins: ["from", "to", "nodes"],
  pickBar: "Click a bar to select the node with the nearest error.",
  snapshots: (count) => ` ${counted(count, "snapshot")}`,
  least: " (smallest)",
  measure: "Measure ",
  measures: { normalized_l1: "normalised l1, %", l1: "l1", rmse: "RMSE" },
  compared: "Comparison with baselines",
  alone: "Scores",
  baselines:
    "Baselines for each node: persistence (the last value), a straight line and a cubic spline. " +
    "They use the training snapshots only and pass through them, so only held-out snapshots are scored. " +
    "The smallest error is underlined.",
  forecastBaselines:
    "Baselines for each node: persistence (the last value) and a straight line. " +
    "They use the same data as the forecast. The smallest error is underlined.",
};

// Over time ------------------------------------------------------------------------------------------------------

const OWN_STYLE = { colour: 0, dash: [], thick: 2.4, gaps: true };
const BASELINE_STYLES = {
  persistence: { colour: 3, dash: [2, 3] },
  linear: { colour: 1, dash: [7, 4] },
  spline: { colour: 2, dash: [1, 0] },
};
const OTHER_STYLE = { colour: 4, dash: [] };

// The model comes first.
function errorCurves() {
  return Object.entries(CONTENT.scores.curves).map(([name, curves], k) => {
    const baseline = { thick: 1.5, gaps: false, ...(BASELINE_STYLES[name] ?? OTHER_STYLE) };
    const style = k === 0 ? OWN_STYLE : baseline;
    const colour = palette()[style.colour];
    return { ...style, kind: "line", name, x: CONTENT.score_times, y: curves[state.feature], colour };
  });
}

// A baseline that is far better than the model leaves the picture.
function errorRange(series) {
  const isPositive = (v) => v > 0;
  const positive = series.flatMap((s) => s.y.filter(isPositive));
  if (!positive.length) return [0.1, 1];
  const own = series[0].y.filter(isPositive).sort((a, b) => a - b);
  const floor = (own[Math.floor(own.length / 10)] ?? 0) / 100;
  return [Math.max(Math.min(...positive), floor) / 1.4, Math.max(...positive) * 1.4];
}

function errorSpec() {
  const series = errorCurves();
  return {
    ...timeAxis(FORECAST ? CONTENT.trained_until : FIRST_TIME),
    y: errorRange(series),
    log: true,
    ylabel: TEXT.mean(FEATURES[state.feature]),
    series,
  };
}

function errorTable() {
  const curves = errorCurves();
  const times = CONTENT.score_dates ?? CONTENT.score_times;
  const lines = times.map((time, k) => [time, ...curves.map((s) => s.y[k])]);
  return [[TIME_LABEL, ...curves.map((s) => s.name)], ...lines];
}

function startErrorCurves(parent) {
  const legend = make("ul", { class: "legend" });
  const chart = new Chart(parent, {
    title: TEXT.overTime,
    height: 280,
    spec: errorSpec,
    table: errorTable,
    legend,
    pick: goTo,
  });
  watch(["theme", "feature"], () => {
    const keys = errorCurves().map(({ name, colour, dash }) => key(dash[1] ? "┅" : "━", name, colour));
    legend.replaceChildren(...keys);
  });
  watch(["frame", "feature", "theme", "size"], () => chart.draw());
  watch(["feature"], () => chart.fill());
}

// Over nodes -----------------------------------------------------------------------------------------------------

function errorBins() {
  const { order, errors } = worstFirst();
  const high = errors[order[0]] || 1;
  const count = Math.max(6, Math.min(30, Math.round(Math.sqrt(NODES) * 1.5)));
  const edges = Array.from({ length: count + 1 }, (_, k) => (k * high) / count);
  const y = new Array(count).fill(0);
  for (const node of order) y[Math.min(count - 1, Math.floor((errors[node] / high) * count))]++;
  return { edges, y };
}

function binSpec() {
  const { errors, rank } = worstFirst();
  const { edges, y } = errorBins();
  const measured = shownNodes().filter((node) => rank.has(node));
  return {
    x: [0, edges.at(-1)],
    y: [0, 1.06 * Math.max(...y)],
    xlabel: TEXT.meanOfNode(meanOver()),
    ylabel: TEXT.nodes,
    marks: measured.map((node) => ({ x: errors[node], colour: nodeColour(node) })),
    series: [{ kind: "bars", edges, y, colour: ink("bar") }],
  };
}

function binTable() {
  const { edges, y } = errorBins();
  return [TEXT.bins, ...y.map((count, k) => [edges[k], edges[k + 1], count])];
}

function chooseByError(error) {
  const { order, errors } = worstFirst();
  const distance = (node) => Math.abs(errors[node] - error);
  choose(order.reduce((a, b) => (distance(b) < distance(a) ? b : a)));
}

function startErrorBins(parent) {
  if (!worstFirst()?.order.length) return;
  const chart = new Chart(parent, {
    title: TEXT.overNodes,
    height: 280,
    spec: binSpec,
    table: binTable,
    legend: make("p", { class: "quiet hint" }, TEXT.pickBar),
    pick: chooseByError,
  });
  watch(["feature", "selected", "pinned", "theme", "size"], () => chart.draw());
  watch(["feature"], () => chart.fill());
}

// Scores ---------------------------------------------------------------------------------------------------------

const measured = (row, part) => row.parts[part]?.[state.measure] ?? null;

function scoreText(score) {
  const unit = state.measure === "normalized_l1" ? 100 : 1;
  return score === null ? NOTHING : roundedNumber(unit * score, 3);
}

function leastScores(parts) {
  const least = (part) => Math.min(...CONTENT.scores.rows.map((row) => measured(row, part) ?? Infinity));
  return Object.fromEntries(parts.map((part) => [part, least(part)]));
}

function scoreHead(part) {
  const count = CONTENT.scores.rows[0].parts[part]?.snapshots ?? 0;
  const below = make("span", { class: "quiet" }, TEXT.snapshots(count));
  return make("th", { scope: "col" }, partNames[part], below);
}

function scoreCell(score, best) {
  const spoken = best ? make("span", { class: "hidden" }, TEXT.least) : null;
  return make("td", { class: best ? "best" : "" }, scoreText(score), spoken);
}

function scoresNote() {
  const baselines = FORECAST ? TEXT.forecastBaselines : TEXT.baselines;
  const { rows, note } = CONTENT.scores;
  return [rows.length > 1 ? baselines : null, note].filter(Boolean).join(" ");
}

function scoreTable() {
  const { rows } = CONTENT.scores;
  const parts = Object.keys(partNames).filter((part) => rows.some((row) => row.parts[part]));
  const least = leastScores(parts);
  const isBest = (part, score) => part !== "train" && score !== null && score === least[part];
  const lines = rows.map((row, k) => {
    const cells = parts.map((part) => scoreCell(measured(row, part), isBest(part, measured(row, part))));
    return make("tr", { class: k ? "" : "own" }, make("th", { scope: "row" }, row.name), ...cells);
  });
  const head = make("tr", {}, make("th", { scope: "col" }, ""), ...parts.map(scoreHead));
  return [make("thead", {}, head), make("tbody", {}, ...lines)];
}

function measureChoice() {
  const options = Object.entries(TEXT.measures).map(([value, name]) => make("option", { value }, name));
  const onchange = (event) => change({ measure: event.target.value });
  return make("label", { class: "pick" }, TEXT.measure, make("select", { id: "measure", onchange }, ...options));
}

function startScores(element) {
  const title = CONTENT.scores.rows.length > 1 ? TEXT.compared : TEXT.alone;
  const table = make("table", { id: "scores", "aria-labelledby": "scores-title" });
  element.append(
    make("div", { class: "heading narrow" }, make("h3", { id: "scores-title" }, title), measureChoice()),
    make("div", { class: "scroll" }, table),
    make("p", { id: "scores-note", class: "quiet" }, scoresNote()),
  );
  watch(["measure", "size"], () => table.replaceChildren(...scoreTable()));
}

section("errors", (_, element) => {
  const overTime = make("div", { id: "error-time" });
  const overNodes = make("div", { id: "error-nodes" });
  element.append(make("div", { class: "pair" }, overTime, overNodes));
  startErrorCurves(overTime);
  startErrorBins(overNodes);
  startScores(element);
});
