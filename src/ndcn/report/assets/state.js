// What is being looked at; what depends on a change of it is drawn again, once for each frame of the screen.

const MOST_PINS = 6;
const state = {
  frame: 0,
  feature: 0,
  layout: "network",
  selected: null,
  hover: null,
  pinned: [],
  same: false,
  playing: false,
  zoom: { k: 1, x: 0.5, y: 0.5 },
  theme: 0,
  size: 0,
  measure: "normalized_l1",
};
const watchers = [];
const dirty = new Set();
let waiting = false;

function watch(names, run) {
  watchers.push({ names, run });
}

function change(updates) {
  for (const [name, value] of Object.entries(updates)) {
    if (state[name] === value) continue;
    state[name] = value;
    dirty.add(name);
  }
  if (dirty.size && !waiting) {
    waiting = true;
    requestAnimationFrame(redraw);
  }
}

function redraw() {
  waiting = false;
  const now = new Set(dirty);
  dirty.clear();
  for (const { names, run } of watchers) if (names.some((name) => now.has(name))) run();
}

let saying = null;
function say(words) {
  // to a screen reader, once things have come to rest
  clearTimeout(saying);
  saying = setTimeout(() => {
    byId("said").textContent = words;
  }, 300);
}

function shownNodes() {
  return state.selected === null || state.pinned.includes(state.selected)
    ? state.pinned
    : [...state.pinned, state.selected];
}

const slots = new Map(); // a colour stays with its node while it is shown
function nodeColour(node) {
  for (const known of [...slots.keys()]) if (!shownNodes().includes(known)) slots.delete(known);
  if (!slots.has(node)) {
    const taken = new Set(slots.values());
    slots.set(node, [0, 1, 2, 3, 4, 5].find((k) => !taken.has(k)) ?? 0);
  }
  return PALETTE[themeNow()][slots.get(node)];
}

function choose(node) {
  change({ selected: node });
  if (node !== null) say(reading(node));
}

function togglePin(node) {
  if (node === null) return;
  if (state.pinned.includes(node)) change({ pinned: state.pinned.filter((other) => other !== node), selected: node });
  else if (state.pinned.length >= MOST_PINS) say(`${MOST_PINS} nodes are pinned already: unpin one first`);
  else change({ pinned: [...state.pinned, node], selected: node });
}

function reading(node) {
  const k = state.frame,
    parts = [];
  for (const [kind, word] of [
    ["truth", "truth"],
    ["prediction", "prediction"],
    ["error", "error"],
  ]) {
    const x = value(kind, state.feature, k, node);
    if (x === x) parts.push(`${word} ${shortNumber(x)}`);
  }
  return `${nodeName(node)} at ${spokenTime(k)}: ${parts.join(", ")}`;
}
