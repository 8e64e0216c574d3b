// Classes of nodes on the page of a classifier: labels, predictions, their probabilities, and where they came from.

import { CONTENT, integers, NODES, nodeName, numbers, STATES } from "./data.js";
import { WORDS } from "./words.js";

export const CLASSES = CONTENT.classes?.names ?? [];
export const SURE = {}; // of each node: likeliest classes and their probabilities, label (-1 if unknown), split, judged
export const WHY = {}; // of each node: who counted most, and by how much; empty where that is not known

export const className = (code) => (code < 0 ? WORDS.classes.unknown : CLASSES[code]);
export const splitName = (node) => WORDS.classes.splits[CONTENT.classes.splits[SURE.split[node]]];
export const predictedClass = (node) => SURE.likeliest[node * SURE.shown];
export const confidenceOf = (node) => SURE.probabilities[node * SURE.shown];
export const isWrong = (node) => SURE.label[node] >= 0 && SURE.label[node] !== predictedClass(node);

// [class, probability] of a node, the likeliest first.
export function likeliestOf(node) {
  const from = node * SURE.shown;
  return Array.from({ length: SURE.shown }, (_, k) => [SURE.likeliest[from + k], SURE.probabilities[from + k]]);
}

// Numbers for the maps: a class as its place, with the confidence between it and the next, so that it can be paler.
export async function unpackClasses() {
  const packed = CONTENT.classes;
  const label = Int32Array.from(await integers(packed.label), (code) => code - 1);
  const lists = [packed.split, packed.judged, packed.likeliest].map(integers);
  const [split, judged, likeliest] = await Promise.all(lists);
  const probabilities = await numbers(packed.probabilities);
  Object.assign(SURE, { label, split, judged, likeliest, probabilities, shown: packed.shown });
  const least = 1 / Math.max(2, CLASSES.length);
  const surely = (node) => Math.max(0, Math.min(0.999, (confidenceOf(node) - least) / (1 - least)));
  STATES.label = Float32Array.from(label, (code) => (code < 0 ? NaN : code + 0.999));
  STATES.predicted = Float32Array.from(label, (_, node) => predictedClass(node) + surely(node));
  STATES.confidence = Float32Array.from(label, (_, node) => confidenceOf(node));
  if (!CONTENT.why) return;
  const { nodes, contributions, log_odds: logOdds, bias, shown } = CONTENT.why;
  Object.assign(WHY, { nodes: await integers(nodes), shown });
  for (const [name, one] of Object.entries({ contributions, logOdds, bias })) WHY[name] = await numbers(one);
}

// [node, contribution] to the log-odds of the likeliest class, the largest first; without those that would read 0.000.
export function contributorsOf(node) {
  const from = node * WHY.shown;
  const all = Array.from({ length: WHY.shown }, (_, k) => [WHY.nodes[from + k], WHY.contributions[from + k]]);
  return all.filter(([, contribution]) => Math.abs(contribution) >= 0.0005);
}

// What a map says of a node.
export function classText(kind, node) {
  if (kind === "label") return className(SURE.label[node]);
  const sure = WORDS.classes.percent(confidenceOf(node));
  return kind === "confidence" ? sure : `${className(predictedClass(node))}, ${sure}`;
}

export function classReading(node) {
  const words = WORDS.classes;
  return words.reading(nodeName(node), classText("predicted", node), className(SURE.label[node]));
}

// The nodes whose likeliest class is least probable come first.
export function leastSure(count) {
  const order = Array.from({ length: NODES }, (_, node) => node);
  order.sort((a, b) => confidenceOf(a) - confidenceOf(b));
  return order.slice(0, count);
}
