// Charts of curves and bars, drawn on a surface, with a table of the same numbers for those who cannot see them.

import { ink } from "./colour.js";
import { CONTENT } from "./data.js";
import { details, make } from "./dom.js";
import { NOTHING, shortNumber } from "./format.js";
import { CanvasSurface, fitted } from "./surface.js";
import { WORDS } from "./words.js";

// Ticks ----------------------------------------------------------------------------------------------------------

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || rough;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

function logTicks(low, high) {
  const powers = [];
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) powers.push(10 ** p);
  if (powers.length > 7) return powers.filter((_, k) => k % Math.ceil(powers.length / 6) === 0);
  if (powers.length >= 2) return powers;
  const near = [0, 1, 2].map((p) => 10 ** (Math.floor(Math.log10(low)) + p));
  const between = near.flatMap((power) => [power, 2 * power, 5 * power]);
  return between.filter((t) => t >= low && t <= high);
}

function tickText(t) {
  const exact = Number(t.toPrecision(6));
  const size = Math.abs(exact);
  const plain = size === 0 || (size >= 1e-3 && size < 1e5);
  return (plain ? String(exact) : exact.toExponential().replace("e+", "e")).replaceAll("-", "−");
}

const LETTER = 6.3; // the width of one, about

// [place, words] of each tick; of dates the finest that have room.
function xTicks(spec, room) {
  const [low, high] = spec.x;
  if (!spec.clock || !CONTENT.ticks) {
    const ticks = niceTicks(low, high, Math.max(2, Math.floor(room / 80)));
    return ticks.map((t) => [t, tickText(t)]);
  }
  const levels = CONTENT.ticks.map((ticks) => ticks.filter(([t]) => t >= low && t <= high));
  const fits = (ticks) => ticks.length && ticks.length * (LETTER * ticks[0][1].length + 18) <= room;
  return levels.find(fits) || [];
}

function yTicks(spec, height) {
  return spec.log ? logTicks(...spec.y) : niceTicks(...spec.y, Math.max(2, Math.floor(height / 55)));
}

// Drawing --------------------------------------------------------------------------------------------------------

// Where things are on a chart: its edges, and the place of a number on each axis.
function placesOf(spec, width, height) {
  const longest = Math.max(2, ...yTicks(spec, height).map((t) => tickText(t).length));
  const left = 22 + LETTER * longest;
  const right = width - 12;
  const top = 8;
  const bottom = height - 38;
  const warp = spec.log ? Math.log10 : (v) => v;
  const [from, to] = spec.x;
  const [low, high] = spec.y.map(warp);
  return {
    left,
    right,
    top,
    bottom,
    px: (v) => left + ((v - from) / (to - from)) * (right - left),
    py: (v) => bottom - ((warp(v) - low) / (high - low)) * (bottom - top),
    fromX: (p) => from + ((p - left) / (right - left)) * (to - from),
  };
}

function drawAxes(surface, spec, places, width, height) {
  const { left, right, top, bottom, px, py } = places;
  const quiet = { fill: ink("quiet"), size: 11 };
  for (const t of yTicks(spec, height)) {
    surface.segments([left, py(t), right, py(t)], ink("grid"), 1);
    surface.text(tickText(t), left - 6, py(t) + 4, { ...quiet, align: "right" });
  }
  for (const [t, words] of xTicks(spec, right - left)) {
    surface.segments([px(t), bottom, px(t), bottom + 4], ink("quiet"), 1);
    const fits = px(t) + 3.2 * words.length <= width;
    if (fits) surface.text(words, px(t), bottom + 17, { ...quiet, align: "center" });
  }
  surface.segments([left, bottom, right, bottom], ink("quiet"), 1);
  surface.text(spec.xlabel, (left + right) / 2, height - 5, { ...quiet, align: "center" });
  surface.text(spec.ylabel, 11, (top + bottom) / 2, { ...quiet, align: "center", turn: -Math.PI / 2 });
}

function drawMark(surface, { x, colour }, { top, bottom, px }) {
  surface.segments([px(x), top, px(x), bottom], colour, 2);
  surface.circle(px(x), top + 4, 4, { fill: colour });
}

// spec: x and y as [low, high], xlabel, ylabel; log; clock, if x is time; spans [{from, to, fill}]; cursor;
// marks [{x, colour}]; series [{kind: line | area | dots | bars, ...}]
export function drawChart(surface, width, height, spec) {
  const places = placesOf(spec, width, height);
  const { left, right, top, bottom, px } = places;
  for (const { from, to, fill } of spec.spans || []) surface.rect(px(from), top, px(to) - px(from), bottom - top, fill);
  drawAxes(surface, spec, places, width, height);
  surface.clip(left, top - 4, right - left + 6, bottom - top + 8, () => {
    for (const series of spec.series) SERIES[series.kind](surface, series, places, isShown(spec));
    if (spec.cursor !== undefined) surface.segments([px(spec.cursor), top, px(spec.cursor), bottom], ink("ink"), 1.2);
    for (const mark of spec.marks || []) drawMark(surface, mark, places);
  });
  return places;
}

const isShown = (spec) => (v) => v !== null && Number.isFinite(v) && (!spec.log || v > 0);
const clamped = (p) => Math.max(-1e4, Math.min(1e4, p));

const SERIES = { bars: drawBars, dots: drawDots, area: drawArea, line: drawLine };

function drawBars(surface, { edges, y, colour }, { px, py, bottom }) {
  y.forEach((v, k) => {
    const width = Math.max(1, px(edges[k + 1]) - px(edges[k]) - 1);
    if (v > 0) surface.rect(px(edges[k]) + 0.5, py(v), width, bottom - py(v), colour);
  });
}

function drawDots(surface, { x, y, colour, hollow = [] }, { px, py }, shown) {
  const open = { fill: ink("card"), stroke: colour, thick: 1.4 };
  y.forEach((v, k) => {
    if (shown(v)) surface.circle(px(x[k]), clamped(py(v)), 2.6, hollow[k] ? open : { fill: colour });
  });
}

function drawArea(surface, { x, low, high, colour }, { px, py }, shown) {
  const use = x.map((_, k) => k).filter((k) => shown(low[k]) && shown(high[k]));
  const above = use.map((k) => [px(x[k]), clamped(py(high[k]))]);
  const below = use.map((k) => [px(x[k]), clamped(py(low[k]))]);
  surface.path([...above, ...below.reverse()], { fill: colour, close: true });
}

// With gaps the line is broken where a number is missing, else it goes on to the next.
function drawLine(surface, { x, y, colour, thick = 2, dash = [], gaps = true }, { px, py }, shown) {
  const points = y.map((v, k) => (shown(v) ? [px(x[k]), clamped(py(v))] : null));
  surface.path(gaps ? points : points.filter(Boolean), { stroke: colour, thick, dash });
}

// Two standard deviations to each side of a curve.
export function band(x, y, std, colour) {
  const low = y.map((v, k) => v - 2 * std[k]);
  const high = y.map((v, k) => v + 2 * std[k]);
  return area(x, low, high, colour);
}

export function area(x, low, high, colour) {
  return { kind: "area", x, low, high, colour: `${colour}2e` };
}

// The range of all numbers in some lists, with a little room.
export function spanOf(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of lists.flat()) {
    if (v === null || !Number.isFinite(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (low > high) return [0, 1];
  const flat = high - low < 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-12);
  const room = flat ? Math.abs(high) * 0.5 || 0.5 : 0.05 * (high - low);
  return [low - room, high + room];
}

// On the page ----------------------------------------------------------------------------------------------------

const charts = new Map(); // by canvas
const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) charts.get(target).sees(isIntersecting);
  },
  { rootMargin: "200px" },
);
addEventListener("beforeprint", () => {
  for (const chart of charts.values()) chart.sees(true);
});

// spec() and table() are asked when needed; table() gives rows, the first with the headings. Off screen nothing is
// drawn. A spec with paint(surface, width, height) draws itself. pick(x) is told where on the axis of x somebody
// clicks or drags.
export class Chart {
  constructor(parent, { title, name = title, height, spec, table, legend = null, pick = null }) {
    Object.assign(this, { height, spec, table, places: null, seen: false, stale: false });
    this.canvas = make("canvas", { role: "img", class: "chart" });
    this.canvas.style.height = `${height}px`;
    this.canvas.setAttribute("aria-label", WORDS.charts.label(name));
    this.rows = make("div", { class: "scroll" });
    this.details = details(WORDS.charts.table, this.rows, { ontoggle: () => this.fill() });
    const caption = make("figcaption", {}, make("strong", {}, title));
    parent.append(make("figure", { class: "chart-figure" }, caption, this.canvas, legend, this.details));
    charts.set(this.canvas, this);
    sight.observe(this.canvas);
    if (pick) this.listen(pick);
  }

  listen(pick) {
    const tell = (event) => {
      if (this.places) pick(this.places.fromX(event.offsetX));
    };
    this.canvas.classList.add("pickable");
    this.canvas.addEventListener("pointerdown", tell);
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons && event.pointerType !== "touch") tell(event);
    });
  }

  sees(seen) {
    this.seen = seen;
    if (seen && this.stale) this.draw();
  }

  draw() {
    this.stale = !this.seen;
    if (this.stale) return;
    const width = this.canvas.clientWidth;
    if (!width) return;
    const surface = new CanvasSurface(fitted(this.canvas, width, this.height));
    const spec = this.spec();
    if (spec.paint) spec.paint(surface, width, this.height);
    else this.places = drawChart(surface, width, this.height, spec);
  }

  fill() {
    if (this.details.open) this.rows.replaceChildren(tableOf(this.table()));
  }
}

const MOST_ROWS = 1000;

function cellText(v) {
  if (v === null) return NOTHING;
  return typeof v === "number" ? shortNumber(v) : v;
}

export function tableOf([headings, ...lines]) {
  const head = headings.map((heading) => make("th", { scope: "col" }, heading));
  const body = lines.slice(0, MOST_ROWS).map(([first, ...rest]) => {
    const cells = rest.map((v) => make("td", {}, cellText(v)));
    return make("tr", {}, make("th", { scope: "row" }, cellText(first)), ...cells);
  });
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
}

export function key(sign, words, colour = null) {
  const shown = make("span", { "aria-hidden": "true", class: "sign" }, sign);
  if (colour) shown.style.color = colour;
  return make("li", {}, shown, words);
}
