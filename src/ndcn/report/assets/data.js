// What the page shows, unpacked: numbers are 16-bit integers, deflated, in base 64.

const CONTENT = JSON.parse(document.getElementById("content").textContent);
const NODES = CONTENT.graph.n;
const TIMES = CONTENT.times;
const FRAMES = TIMES.length;
const FEATURES = CONTENT.features;
const MISSING = 65535;

async function inflate(text) {
  const packed = atob(text);
  const raw = new Uint8Array(packed.length);
  for (let k = 0; k < raw.length; k++) raw[k] = packed.charCodeAt(k);
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function integers(packed) {
  const raw = await inflate(packed.data);
  return packed.bits === 16 ? new Uint16Array(raw.buffer) : new Uint32Array(raw.buffer);
}

async function rows(packed) {
  if (!packed) return null;
  const raw = await inflate(packed.data);
  const [count, width] = packed.shape;
  const size = count * width;
  const out = new Float32Array(size);
  for (let r = 0; r < count; r++) {
    const low = packed.low[r],
      step = packed.step[r];
    for (let k = r * width; k < (r + 1) * width; k++) {
      const code = raw[k] | (raw[size + k] << 8);
      out[k] = code === MISSING ? NaN : low + code * step;
    }
  }
  return out;
}

// States of one kind, one row of nodes for each moment of each feature; null where the model has none.
const STATE_KINDS = ["truth", "prediction", "error", "std", "lower", "upper"];
const STATES = {};
const GRAPH = {};

async function unpack() {
  const g = CONTENT.graph;
  const [u, v, x, y, cell] = await Promise.all([g.u, g.v, g.x, g.y, g.cell].map(integers));
  Object.assign(GRAPH, { u, v, cell, names: g.names });
  GRAPH.x = Float32Array.from(x, (value) => value / 65535);
  GRAPH.y = Float32Array.from(y, (value) => value / 65535);
  const side = Math.ceil(Math.sqrt(NODES));
  GRAPH.side = side;
  GRAPH.column = Float32Array.from(cell, (c) => ((c % side) + 0.5) / side);
  GRAPH.row = Float32Array.from(cell, (c) => (Math.floor(c / side) + 0.5) / side);
  GRAPH.neighbours = neighbourLists(u, v);
  for (const kind of STATE_KINDS) STATES[kind] = await rows(CONTENT.states[kind]);
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

function snapshot(kind, feature, frame) {
  const from = (feature * FRAMES + frame) * NODES;
  return STATES[kind].subarray(from, from + NODES);
}

function value(kind, feature, frame, node) {
  return STATES[kind] ? STATES[kind][(feature * FRAMES + frame) * NODES + node] : NaN;
}

function curve(kind, feature, node) {
  return STATES[kind] ? TIMES.map((_, frame) => value(kind, feature, frame, node)) : null;
}

function nodeName(node) {
  return GRAPH.names ? GRAPH.names[node] : `node ${node}`;
}

const FORECAST = CONTENT.forecast;
const KIND_NAMES = {
  t: "trained on",
  i: "interpolation",
  e: "extrapolation",
  g: "given",
  f: "no data: what comes next",
  w: "training window",
  ...(FORECAST ? { t: "past", e: "forecast, with data", f: "forecast", a: "after the forecast" } : {}),
};

const HELD = TIMES.map((_, k) => k).filter((k) => "ie".includes(CONTENT.kinds[k])); // snapshots not trained on
const HELD_WORDS = HELD.length ? (FORECAST ? "where forecast" : "where held back") : "over all snapshots";

function nodeErrors(feature) {
  // Mean |error| of each node over the snapshots that were held back, or over all if none was.
  const frames = HELD.length ? HELD : TIMES.map((_, k) => k);
  const total = new Float64Array(NODES),
    count = new Uint32Array(NODES);
  for (const k of frames) {
    const error = snapshot("error", feature, k);
    for (let i = 0; i < NODES; i++)
      if (error[i] === error[i]) {
        total[i] += Math.abs(error[i]);
        count[i]++;
      }
  }
  return total.map((sum, i) => (count[i] ? sum / count[i] : NaN));
}

// Times as people call them: dates where the data have dates.
const DATES = CONTENT.dates && shortDates(CONTENT.dates);

function shortDates(texts) {
  // without zone, seconds and hours where they say nothing
  let out = texts.map((text) => text.replace(/[+-]\d\d:\d\d$/, "").replace("T", " "));
  if (out.every((text) => /:\d\d:00$/.test(text))) out = out.map((text) => text.slice(0, -3));
  return out.every((text) => text.endsWith(" 00:00")) ? out.map((text) => text.slice(0, -6)) : out;
}

const timeDigits = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.max(1e-9, TIMES[FRAMES - 1] - TIMES[0])))));
function timeText(frame) {
  return DATES ? DATES[frame] : `t = ${TIMES[frame].toFixed(timeDigits).replace("-", "−")}`;
}
function spokenTime(frame) {
  return DATES ? DATES[frame] : `time ${shortNumber(TIMES[frame])}`;
}
function spanText(from, to) {
  return `${timeText(from)} to ${timeText(to).replace("t = ", "")}${CONTENT.zone ? `, ${CONTENT.zone}` : ""}`;
}

function shortNumber(x) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6))
    return x
      .toExponential(2)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e")
      .replaceAll("-", "−");
  return String(Number(x.toPrecision(4))).replace("-", "−");
}
