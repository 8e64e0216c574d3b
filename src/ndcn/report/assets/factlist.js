// Facts at the top of a page, each [name, text, note or null].

import { CONTENT } from "./data.js";
import { make } from "./dom.js";
import { WORDS } from "./words.js";

export function factElement([name, text, note]) {
  const below = note ? make("dd", { class: "quiet" }, note) : null;
  return make("div", {}, make("dt", {}, name), make("dd", {}, text), below);
}

export function networkFact() {
  const { n, edges, directed } = CONTENT.graph;
  return [WORDS.facts.network, WORDS.facts.nodes(n), WORDS.facts.edges(edges, directed)];
}
