// What the page opens on: the node with the largest error or predicted change, when that is largest.

import { FORECAST, FRAMES, framesOf, HELD, NODES, STATES, shownFrame, snapshot, TIMES } from "./data.js";
import { worstFirst } from "./ranking.js";
import { change, state } from "./state.js";

const everyFrame = TIMES.map((_, k) => k);

function known(kind, frame) {
  return snapshot(kind, state.feature, frame).reduce((count, x) => count + !Number.isNaN(x), 0);
}

// Moments without much grey.
function filled(kind, frames) {
  const counts = frames.map((k) => known(kind, k));
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  return frames.filter((_, k) => counts[k] > 0 && 2 * counts[k] >= most);
}

function momentsToShow() {
  if (STATES.error) return filled("error", HELD.length ? HELD : everyFrame);
  return filled("prediction", FORECAST ? framesOf("ef") : everyFrame);
}

// Where the prediction of each node began.
function startOf(frames) {
  if (FORECAST && STATES.truth) return snapshot("truth", state.feature, shownFrame("truth", FRAMES - 1));
  return snapshot("prediction", state.feature, frames[0]);
}

// How much there is to see of a node at a moment: its error, or how far it is from where it began; -1 without them.
function interestIn(frames) {
  const start = STATES.error ? null : startOf(frames);
  const sizes = (frame) => {
    const now = snapshot(start ? "prediction" : "error", state.feature, frame);
    return (node) => {
      const size = Math.abs(start ? now[node] - start[node] : now[node]);
      return Number.isNaN(size) ? -1 : size;
    };
  };
  const at = new Map(frames.map((frame) => [frame, sizes(frame)]));
  return (frame, node) => at.get(frame)(node);
}

// The item of the largest size, the first of several.
function largest(items, size) {
  let [best, most] = [items[0] ?? 0, -Infinity];
  for (const item of items) {
    const now = size(item);
    if (now > most) [best, most] = [item, now];
  }
  return best;
}

export function openOnTheMostInteresting() {
  const frames = momentsToShow();
  const interest = frames.length ? interestIn(frames) : () => -1;
  const everyNode = Array.from({ length: NODES }, (_, i) => i);
  const mostOf = (node) => frames.reduce((most, frame) => Math.max(most, interest(frame, node)), -1);
  const node = worstFirst()?.order[0] ?? largest(everyNode, mostOf);
  change({ selected: node, frame: largest(frames, (frame) => interest(frame, node)) });
}
