// Drawing of the network: where its nodes are, its links, its states as colours, and marks of nodes looked at.

import { classText } from "./classes.js";
import { colouring, ink } from "./colour.js";
import { CONTENT, GRAPH, NODES, nodeName, shownFrame, snapshot, value } from "./data.js";
import { roundedNumber, shortNumber, timeText } from "./format.js";
import { nodeColour, shownNodes, state } from "./state.js";
import { WORDS } from "./words.js";

const PAD = 12;
const MOVING = 420; // milliseconds from one layout to the other
const MOST_FOCUSED = 400; // neighbours that are marked

// Places ---------------------------------------------------------------------------------------------------------

let moving = null; // from one layout to the other: {from, began}

export function startMoving(from) {
  moving = { from, began: performance.now() };
}

export function stillMoving() {
  if (moving && performance.now() - moving.began >= MOVING) moving = null;
  return moving !== null;
}

function movedShare() {
  if (!moving) return 1;
  const t = Math.max(0, Math.min(1, (performance.now() - moving.began) / MOVING));
  return t * t * (3 - 2 * t);
}

// Coordinates of all nodes between 0 and 1.
export function unitPositions(layout) {
  return layout === "square" ? [GRAPH.column, GRAPH.row] : [GRAPH.x, GRAPH.y];
}

export function innerSize(width, height) {
  return Math.min(width, height) - 2 * PAD;
}

function squareRadius(scale) {
  const cell = scale / GRAPH.side / 2;
  if (cell > 4) return cell - 0.75;
  return Math.max(0.5, cell > 2 ? cell - 0.25 : cell);
}

function dotRadius(size, zoom) {
  const share = size < 260 ? 0.36 : 0.27;
  return Math.max(1.3, Math.min((share * size * zoom) / Math.sqrt(NODES), 9 * Math.sqrt(zoom)));
}

let placed = { key: "" };

// Where nodes are on a picture of that size, and how large; the last answer is kept.
export function geometry(width, height) {
  const { zoom, layout } = state;
  const share = movedShare();
  const key = [width, height, zoom.k, zoom.x, zoom.y, layout, share].join();
  if (key === placed.key) return placed;
  const size = innerSize(width, height);
  const scale = size * zoom.k;
  const [toX, toY] = unitPositions(layout);
  const [fromX, fromY] = moving ? unitPositions(moving.from) : [toX, toY];
  const x = new Float32Array(NODES);
  const y = new Float32Array(NODES);
  for (let i = 0; i < NODES; i++) {
    x[i] = width / 2 + (fromX[i] + share * (toX[i] - fromX[i]) - zoom.x) * scale;
    y[i] = height / 2 + (fromY[i] + share * (toY[i] - fromY[i]) - zoom.y) * scale;
  }
  const arrived = share >= 1;
  const square = layout === "square" && arrived;
  const r = square ? squareRadius(scale) : dotRadius(size, zoom.k);
  placed = { key, x, y, r, square, links: !square && arrived };
  return placed;
}

// Drawing --------------------------------------------------------------------------------------------------------

function drawLinks(surface, g) {
  const { u, v } = GRAPH;
  const ends = new Float32Array(4 * u.length);
  for (let e = 0; e < u.length; e++) {
    ends[4 * e] = g.x[u[e]];
    ends[4 * e + 1] = g.y[u[e]];
    ends[4 * e + 2] = g.x[v[e]];
    ends[4 * e + 3] = g.y[v[e]];
  }
  const crowd = Math.max(1, u.length / NODES);
  const opacity = Math.max(0.05, Math.min(0.5, 0.62 / crowd ** 0.75));
  surface.segments(ends, `rgba(${ink("link")},${opacity.toFixed(3)})`, NODES > 1500 ? 0.5 : 0.8);
}

// A thin rim, so that pale nodes stand out from the page.
function drawRims(surface, g) {
  surface.dots(g.x, g.y, g.r + Math.min(1, 0.3 * g.r), new Uint8Array(NODES), [ink("rim")], false);
}

// What does not change with time.
export function drawBackground(surface, g) {
  if (g.links) drawLinks(surface, g);
  if (!g.square) drawRims(surface, g);
}

const shadesOf = new Map();

// Returns how many nodes have no state.
function drawStates(surface, g, kind) {
  const { ramp, shade } = colouring(kind, state.feature, state.same);
  const now = snapshot(kind, state.feature, shownFrame(kind, state.frame));
  if (!shadesOf.has(kind)) shadesOf.set(kind, new Int16Array(NODES));
  const shades = shadesOf.get(kind);
  let missing = 0;
  for (let i = 0; i < NODES; i++) {
    shades[i] = shade(now[i]);
    if (shades[i] < 0) missing++;
  }
  if (missing) {
    const none = Int16Array.from(shades, (s) => (s < 0 ? 0 : -1));
    surface.dots(g.x, g.y, g.r, none, [ink("missing")], g.square);
  }
  surface.dots(g.x, g.y, g.r, shades, ramp, g.square);
  return missing;
}

function outline(surface, g, node, r, stroke, thick) {
  if (g.square) surface.frame(g.x[node] - r, g.y[node] - r, 2 * r, 2 * r, stroke, thick);
  else surface.circle(g.x[node], g.y[node], r + 0.5, { stroke, thick });
}

function mark(surface, g, node, colour, thick) {
  const r = g.square ? g.r : g.r + 2;
  outline(surface, g, node, r, ink("card"), thick + 2);
  outline(surface, g, node, r, colour, thick);
}

const focus = () => state.hover ?? state.selected;

function focusNeighbours() {
  return focus() === null ? [] : GRAPH.neighbours(focus()).subarray(0, MOST_FOCUSED);
}

function drawFocusLinks(surface, g) {
  const shown = focusNeighbours();
  if (!g.links || !shown.length) return;
  const i = focus();
  const ends = new Float32Array(4 * shown.length);
  shown.forEach((j, k) => {
    ends.set([g.x[i], g.y[i], g.x[j], g.y[j]], 4 * k);
  });
  surface.segments(ends, ink("ink"), 1.3);
}

function drawMarks(surface, g) {
  for (const j of focusNeighbours()) outline(surface, g, j, g.r, ink("ink"), 1.5);
  for (const node of shownNodes()) mark(surface, g, node, nodeColour(node), 2.5);
  const { hover } = state;
  if (hover !== null && !shownNodes().includes(hover)) mark(surface, g, hover, ink("ink"), 2);
}

// What changes with time, and with the nodes looked at. Returns how many nodes have no state.
export function drawForeground(surface, g, kind) {
  drawFocusLinks(surface, g);
  const missing = drawStates(surface, g, kind);
  drawMarks(surface, g);
  return missing;
}

export function drawNetwork(surface, kind, width, height) {
  const g = geometry(width, height);
  let missing = 0;
  surface.clip(0, 0, width, height, () => {
    drawBackground(surface, g);
    missing = drawForeground(surface, g, kind);
  });
  return missing;
}

function valueText(kind, node) {
  if (CONTENT.classes) return classText(kind, node);
  return shortNumber(value(kind, state.feature, shownFrame(kind, state.frame), node));
}

export function drawTip(surface, g, kind, width) {
  const i = state.hover;
  if (i === null) return;
  const name = nodeName(i);
  const short = name.length > 28 ? `${name.slice(0, 27)}…` : name;
  const words = `${short}  ${valueText(kind, i)}`;
  const wide = 6.6 * words.length + 14;
  const x = Math.max(2, Math.min(width - wide - 2, g.x[i] - wide / 2));
  const y = g.y[i] > 44 ? g.y[i] - g.r - 30 : g.y[i] + g.r + 8;
  surface.rect(x, y, wide, 22, ink("ink"));
  surface.text(words, x + wide / 2, y + 15, { fill: ink("card"), size: 12, align: "center", weight: 500 });
}

export function drawScale(surface, kind, width) {
  if (CONTENT.classes && kind !== "confidence") return; // the legend names the classes
  const write = CONTENT.classes ? (share) => share.toFixed(2) : shortNumber;
  drawRamp(surface, colouring(kind, state.feature, state.same), width, write);
}

// The colours of some numbers, with the least, the middle and the largest.
export function drawRamp(surface, colours, width, write = shortNumber) {
  const bar = Math.min(width, 260);
  const left = (width - bar) / 2;
  for (let k = 0; k < 64; k++) {
    surface.rect(left + (k * bar) / 64, 2, bar / 64 + 0.6, 8, colours.ramp[Math.round((k * 255) / 63)]);
  }
  const style = { fill: ink("quiet"), size: 11 };
  surface.text(write(colours.low), left, 24, style);
  surface.text(write(colours.at(0.5)), left + bar / 2, 24, { ...style, align: "center" });
  surface.text(write(colours.high), left + bar, 24, { ...style, align: "right" });
}

// What a picture shows: beside a forecast of what nobody has seen, not the truth but what was last observed.
export function panelName(kind) {
  const frame = shownFrame(kind, state.frame);
  return frame === state.frame ? WORDS.panels.names[kind] : WORDS.panels.lastObserved(timeText(frame));
}

// What has to be known about the colours of a picture.
export function caption(kind, missing) {
  const words = WORDS.panels;
  if (CONTENT.classes) return missing ? WORDS.classes.missing(missing) : WORDS.classes.captions[kind];
  if (missing === NODES) return kind === "prediction" ? words.noForecast : words.noData;
  const parts = missing ? [words.unobserved(missing)] : [];
  if (kind === "error") {
    const times = colouring("error", state.feature, state.same).magnified;
    parts.push(words.error);
    if (times > 1.5) parts.push(words.finer(roundedNumber(times, 2)));
  } else if (kind === "std") parts.push(words.std);
  else if (CONTENT.scales[state.feature].gamma !== 1) parts.push(words.squareRoot);
  return parts.join(", ");
}
