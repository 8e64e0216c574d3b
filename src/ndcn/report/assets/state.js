// What is being looked at; what depends on a change of it is drawn again, once for each frame of the screen.

import { classReading } from "./classes.js";
import { palette } from "./colour.js";
import { CONTENT, nodeName, value } from "./data.js";
import { byId } from "./dom.js";
import { shortNumber, spokenTime } from "./format.js";
import { WORDS } from "./words.js";

const MOST_PINS = 6;
export const state = {
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

export function watch(names, run) {
  watchers.push({ names, run });
}

export function change(updates) {
  for (const [name, setting] of Object.entries(updates)) {
    if (state[name] === setting) continue;
    state[name] = setting;
    dirty.add(name);
  }
  if (!dirty.size || waiting) return;
  waiting = true;
  requestAnimationFrame(redraw);
}

function redraw() {
  waiting = false;
  const now = new Set(dirty);
  dirty.clear();
  for (const { names, run } of watchers) {
    if (names.some((name) => now.has(name))) run();
  }
}

export function redrawAll() {
  for (const name of Object.keys(state)) dirty.add(name);
  redraw();
}

// To a screen reader, once things have come to rest.
let saying = null;
export function say(words) {
  clearTimeout(saying);
  saying = setTimeout(() => {
    byId("said").textContent = words;
  }, 300);
}

export function shownNodes() {
  const { pinned, selected } = state;
  return selected === null || pinned.includes(selected) ? pinned : [...pinned, selected];
}

// A colour stays with its node while it is shown.
const slots = new Map();
export function nodeColour(node) {
  for (const known of [...slots.keys()]) {
    if (!shownNodes().includes(known)) slots.delete(known);
  }
  if (!slots.has(node)) {
    const taken = new Set(slots.values());
    slots.set(node, [0, 1, 2, 3, 4, 5].find((k) => !taken.has(k)) ?? 0);
  }
  return palette()[slots.get(node)];
}

export function choose(node) {
  change({ selected: node });
  if (node !== null) say(reading(node));
}

export function togglePin(node) {
  if (node === null) return;
  const { pinned } = state;
  if (pinned.includes(node)) change({ pinned: pinned.filter((other) => other !== node), selected: node });
  else if (pinned.length >= MOST_PINS) say(WORDS.nodes.tooManyPins(MOST_PINS));
  else change({ pinned: [...pinned, node], selected: node });
}

export function reading(node) {
  if (CONTENT.classes) return classReading(node);
  const values = [];
  for (const [kind, word] of Object.entries(WORDS.nodes.spoken)) {
    const x = value(kind, state.feature, state.frame, node);
    if (!Number.isNaN(x)) values.push(`${word} ${shortNumber(x)}`);
  }
  return WORDS.nodes.reading(nodeName(node), spokenTime(state.frame), values);
}
