// Nodes by their mean |error| of the feature shown, the largest first.

import { NODES, nodeErrors, STATES } from "./data.js";
import { state, watch } from "./state.js";

let ranking = null;

// { order: nodes, errors: of each node, rank: of each node, from 1 }; null without data to compare with.
export function worstFirst() {
  return ranking;
}

function rankNodes() {
  if (!STATES.error) return;
  const errors = nodeErrors(state.feature);
  const measured = Array.from({ length: NODES }, (_, i) => i).filter((i) => !Number.isNaN(errors[i]));
  const order = measured.sort((a, b) => errors[b] - errors[a]);
  ranking = { errors, order, rank: new Map(order.map((node, k) => [node, k + 1])) };
}

export function startRanking() {
  rankNodes();
  watch(["feature"], rankNodes);
}
