// What the page opens on: the node with the largest error or predicted change, when that is largest.

import { FORECAST, FRAMES, framesOf, HELD, NODES, shownFrame, snapshot, STATES, TIMES } from "./data.js";
import { worstFirst } from "./ranking.js";
import { change, state } from "./state.js";

const everyFrame = TIMES.map((_, k) => k);

function known(kind, frame) {
  return snapshot(kind, state.feature, frame).reduce((count, x) => count + !Number.isNaN(x), 0);
}

// Moments without much grey.
function filled(kind, frames) {
  const counts = frames.map((k) => known(kind, k));
  const most = Math.max(...counts);
  return frames.filter((_, k) => counts[k] > 0 && 2 * counts[k] >= most);
}

function momentsToShow() {
  if (STATES.error) return filled("error", HELD.length ? HELD : everyFrame);
  return filled("prediction", FORECAST ? framesOf("ef") : everyFrame);
}

// How much there is to see of each node at a moment: its error, or how far it is from where the prediction began.
function interestAt(frame) {
  const f = state.feature;
  if (STATES.error) return snapshot("error", f, frame).map(Math.abs);
  const began = FORECAST && STATES.truth ? snapshot("truth", f, shownFrame("truth", FRAMES - 1)) : null;
  const first = began ?? snapshot("prediction", f, momentsToShow()[0]);
  return snapshot("prediction", f, frame).map((x, i) => Math.abs(x - first[i]));
}

const largest = (items, size) => items.reduce((a, b) => (size(b) > size(a) ? b : a), items[0]);
const orNone = (x) => (Number.isNaN(x) ? -1 : x);

export function openOnTheMostInteresting() {
  const frames = momentsToShow();
  const interest = new Map(frames.map((k) => [k, interestAt(k)]));
  const most = (i) => Math.max(-1, ...frames.map((k) => orNone(interest.get(k)[i])));
  const changes = Array.from({ length: NODES }, (_, i) => most(i));
  const node = worstFirst()?.order[0] ?? largest([...changes.keys()], (i) => changes[i]) ?? 0;
  const frame = largest(frames, (k) => orNone(interest.get(k)[node])) ?? 0;
  change({ selected: node, frame });
}
