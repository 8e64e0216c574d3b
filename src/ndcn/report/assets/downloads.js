// The view as a picture, the numbers as CSV.

import { drawChart } from "./chart.js";
import { ink } from "./colour.js";
import { CONTENT, FEATURES, GRAPH, kindName, NODES, nodeName, STATE_KINDS, STATES, TIMES, value } from "./data.js";
import { byId, make } from "./dom.js";
import { fileTime, timeText } from "./format.js";
import { caption, drawNetwork, drawScale, panelName } from "./network.js";
import { nodeSpec } from "./nodes.js";
import { panelKinds } from "./panels.js";
import { nodeColour, say, shownNodes, state } from "./state.js";
import { CanvasSurface, SvgSurface } from "./surface.js";
import { WORDS } from "./words.js";

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const momentName = () => `ndcn-${fileTime(state.frame)}`;

// Pictures -------------------------------------------------------------------------------------------------------

const SIDE = 380; // of one panel
const GAP = 24;
const TOP = 64;
const CHART = 300;

function pictureSize() {
  const width = GAP + panelKinds.length * (SIDE + GAP);
  const chart = shownNodes().length ? CHART + 40 : 0;
  return [width, TOP + SIDE + 44 + chart + GAP];
}

function drawHeading(surface) {
  const { feature, frame } = state;
  const words = WORDS.downloads.heading(document.title, FEATURES[feature], timeText(frame), kindName(frame));
  surface.text(words, GAP, 28, { fill: ink("ink"), size: 16, weight: 600 });
}

function drawPanel(surface, kind) {
  const name = panelName(kind);
  surface.text(name, 0, -10, { fill: ink("ink"), size: 13, weight: 600 });
  const missing = drawNetwork(surface, kind, SIDE, SIDE);
  surface.text(caption(kind, missing), Math.max(86, 8.2 * name.length + 6), -10, { fill: ink("quiet"), size: 12 });
  surface.shift(0, SIDE + 6, () => drawScale(surface, kind, SIDE));
}

function drawNodeNames(surface) {
  let x = 0;
  for (const node of shownNodes()) {
    const words = nodeName(node).slice(0, 24);
    surface.circle(x + 5, -4, 5, { fill: nodeColour(node) });
    surface.text(words, x + 16, 0, { fill: ink("ink"), size: 12 });
    x += 34 + 7 * words.length;
  }
}

function drawPicture(surface) {
  const [width, height] = pictureSize();
  surface.rect(0, 0, width, height, ink("card"));
  drawHeading(surface);
  panelKinds.forEach((kind, k) => {
    surface.shift(GAP + k * (SIDE + GAP), TOP, () => drawPanel(surface, kind));
  });
  if (!shownNodes().length) return;
  surface.shift(GAP, TOP + SIDE + 56, () => {
    drawNodeNames(surface);
    surface.shift(0, 12, () => drawChart(surface, width - 2 * GAP, CHART, nodeSpec()));
  });
}

function saveSvg() {
  const surface = new SvgSurface(...pictureSize());
  drawPicture(surface);
  save(new Blob([surface.toString()], { type: "image/svg+xml" }), `${momentName()}.svg`);
}

function savePng() {
  const [width, height] = pictureSize();
  const name = momentName();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  const ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  drawPicture(new CanvasSurface(ctx));
  canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
}

// Tables: their columns have the same names in every language ----------------------------------------------------

// A table program must not take a name for a formula.
function csvCell(cell) {
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  const words = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}

function saveTable(lines, name) {
  const text = lines.map((line) => `${line.map(csvCell).join(",")}\n`);
  save(new Blob(text, { type: "text/csv" }), name);
}

const tableKinds = () => STATE_KINDS.filter((kind) => STATES[kind]);
const wholeTime = (frame) => (CONTENT.dates ? CONTENT.dates[frame] : TIMES[frame]);
const plainName = (node) => (GRAPH.names ? GRAPH.names[node] : String(node));

function saveMoment() {
  const { frame } = state;
  const columns = FEATURES.flatMap((feature, f) =>
    tableKinds().map((kind) => ({ kind, f, name: FEATURES.length > 1 ? `${feature} ${kind}` : kind })),
  );
  const lines = [["time", "node", ...columns.map(({ name }) => name)]];
  for (let i = 0; i < NODES; i++) {
    const values = columns.map(({ kind, f }) => value(kind, f, frame, i));
    lines.push([wholeTime(frame), plainName(i), ...values]);
  }
  saveTable(lines, `${momentName()}.csv`);
}

function saveCurves() {
  const lines = [["node", "time", "kind", ...tableKinds()]];
  for (const node of shownNodes()) {
    for (let k = 0; k < TIMES.length; k++) {
      const values = tableKinds().map((kind) => value(kind, state.feature, k, node));
      lines.push([plainName(node), wholeTime(k), kindName(k), ...values]);
    }
  }
  saveTable(lines, "ndcn-curves.csv");
}

// The menu -------------------------------------------------------------------------------------------------------

const SAVES = { png: savePng, svg: saveSvg, moment: saveMoment, curves: saveCurves };

export function startDownloads() {
  const button = byId("download");
  const list = byId("download-list");
  const open = (yes) => {
    list.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
  };
  button.addEventListener("click", () => open(list.hidden));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".menu")) open(false);
  });
  list.parentElement.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    open(false);
    button.focus();
  });
  for (const item of list.querySelectorAll("button")) {
    item.addEventListener("click", () => {
      open(false);
      SAVES[item.dataset.save]();
      say(WORDS.downloads.saved);
    });
  }
}
