// What the page shows, unpacked: numbers are stored exactly, deflated, in base 64.

import { WORDS } from "./words.js";

export const CONTENT = JSON.parse(document.getElementById("content").textContent);
export const NODES = CONTENT.graph.n;
export const TIMES = CONTENT.times;
export const FRAMES = TIMES.length;
export const FIRST_TIME = TIMES[0];
export const LAST_TIME = TIMES[FRAMES - 1];
export const FEATURES = CONTENT.features;
export const FORECAST = CONTENT.forecast;

const MISSING = -(2 ** 31);
const FORMS = { decimal: Int32Array, single: Float32Array, double: Float64Array };

async function inflate(text) {
  const packed = atob(text);
  const raw = new Uint8Array(packed.length);
  for (let k = 0; k < raw.length; k++) raw[k] = packed.charCodeAt(k);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function integers(packed) {
  const raw = await inflate(packed.data);
  return packed.bits === 16 ? new Uint16Array(raw.buffer) : new Uint32Array(raw.buffer);
}

// Numbers whose first bytes come first, then their second ones, ...
export async function numbers(packed) {
  const planes = await inflate(packed.data);
  const Form = FORMS[packed.kind];
  const width = Form.BYTES_PER_ELEMENT;
  const count = planes.length / width;
  const raw = new Uint8Array(planes.length);
  for (let byte = 0; byte < width; byte++) {
    for (let k = 0; k < count; k++) raw[width * k + byte] = planes[byte * count + k];
  }
  const codes = new Form(raw.buffer);
  if (packed.kind !== "decimal") return codes;
  return Float64Array.from(codes, (code) => (code === MISSING ? NaN : code / packed.unit));
}

// The shortest decimal that means a number of single precision, as tables of predictions have it.
function shortest(x) {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return short;
  }
  return Number(x.toPrecision(9));
}

// States of one kind, one row of nodes for each moment of each feature; null where the model has none. A classifier has
// others, which classes.js puts here.
export const STATE_KINDS = ["truth", "prediction", "error", "std", "lower", "upper"];
export const STATES = {};
export const GRAPH = {};

export async function unpack() {
  const g = CONTENT.graph;
  const [u, v, x, y, cell] = await Promise.all([g.u, g.v, g.x, g.y, g.cell].map(integers));
  Object.assign(GRAPH, { u, v, cell, names: g.names });
  GRAPH.x = Float32Array.from(x, (code) => code / 65535);
  GRAPH.y = Float32Array.from(y, (code) => code / 65535);
  const side = Math.ceil(Math.sqrt(NODES));
  GRAPH.side = side;
  GRAPH.column = Float32Array.from(cell, (c) => ((c % side) + 0.5) / side);
  GRAPH.row = Float32Array.from(cell, (c) => (Math.floor(c / side) + 0.5) / side);
  GRAPH.neighbours = neighbourLists(u, v);
  for (const kind of STATE_KINDS) {
    const packed = CONTENT.states[kind];
    STATES[kind] = packed?.data ? await numbers(packed) : null;
  }
  if (CONTENT.states.error) STATES.error = STATES.prediction.map((x, k) => x - STATES.truth[k]);
}

function neighbourLists(u, v) {
  const first = new Uint32Array(NODES + 1);
  for (let e = 0; e < u.length; e++) {
    first[u[e] + 1]++;
    first[v[e] + 1]++;
  }
  for (let i = 0; i < NODES; i++) first[i + 1] += first[i];
  const next = first.slice();
  const list = new Uint32Array(2 * u.length);
  for (let e = 0; e < u.length; e++) {
    list[next[u[e]]++] = v[e];
    list[next[v[e]]++] = u[e];
  }
  return (i) => list.subarray(first[i], first[i + 1]);
}

export function snapshot(kind, feature, frame) {
  const from = (feature * FRAMES + frame) * NODES;
  return STATES[kind].subarray(from, from + NODES);
}

// One number, with the digits that the table of `ndcn predict` has.
export function value(kind, feature, frame, node) {
  if (!STATES[kind]) return NaN;
  if (kind === "error") return value("prediction", feature, frame, node) - value("truth", feature, frame, node);
  const x = STATES[kind][(feature * FRAMES + frame) * NODES + node];
  return CONTENT.states[kind].kind === "single" ? shortest(x) : x;
}

export function curve(kind, feature, node) {
  return STATES[kind] && TIMES.map((_, frame) => STATES[kind][(feature * FRAMES + frame) * NODES + node]);
}

export function nodeName(node) {
  return GRAPH.names ? GRAPH.names[node] : WORDS.nodes.unnamed(node);
}

const KIND_NAMES = FORECAST ? { ...WORDS.kinds, ...WORDS.forecastKinds } : WORDS.kinds;

export function kindName(frame) {
  return KIND_NAMES[CONTENT.kinds[frame]];
}

export const partNames = FORECAST ? { ...WORDS.parts, extrapolation: WORDS.forecastPart } : WORDS.parts;

export function framesOf(kinds) {
  return TIMES.map((_, k) => k).filter((k) => kinds.includes(CONTENT.kinds[k]));
}

export const HELD = framesOf("ie"); // snapshots not trained on

// Which snapshot the picture of a kind shows: beside a forecast of what nobody has seen, the last that was observed.
export function shownFrame(kind, frame) {
  if (kind !== "truth" || !FORECAST || CONTENT.kinds[frame] !== "f") return frame;
  return framesOf("tea").findLast((k) => k < frame) ?? frame;
}

export function meanOver() {
  if (!HELD.length) return WORDS.meanOver.all;
  return FORECAST ? WORDS.meanOver.forecast : WORDS.meanOver.held;
}

// Mean |error| of each node over the held-out snapshots, or over all if none was.
export function nodeErrors(feature) {
  const frames = HELD.length ? HELD : TIMES.map((_, k) => k);
  const total = new Float64Array(NODES);
  const count = new Uint32Array(NODES);
  for (const k of frames) {
    const error = snapshot("error", feature, k);
    for (let i = 0; i < NODES; i++) {
      if (Number.isNaN(error[i])) continue;
      total[i] += Math.abs(error[i]);
      count[i]++;
    }
  }
  return total.map((sum, i) => (count[i] ? sum / count[i] : NaN));
}
