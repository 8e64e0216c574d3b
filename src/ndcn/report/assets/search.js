// Nodes found by name, while it is typed.

import { GRAPH, NODES, nodeName } from "./data.js";
import { byId, make } from "./dom.js";
import { shortNumber } from "./format.js";
import { panels } from "./panels.js";
import { worstFirst } from "./ranking.js";
import { choose } from "./state.js";
import { WORDS } from "./words.js";

const MOST_FOUND = 8;
let foundNodes = [];
let foundAt = -1;

// Köln is found as koln, and as köln however its letters are put together.
function folded(words) {
  return words.trim().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}

// 0 for the name itself, 1 for its beginning, 2 for a part of it; 3 where it is something else.
function matchLevel(name, wanted) {
  if (name === wanted) return 0;
  if (name.startsWith(wanted)) return 1;
  return name.includes(wanted) ? 2 : 3;
}

function matches(words) {
  const typed = folded(words);
  if (!typed) return worstFirst() ? worstFirst().order.slice(0, MOST_FOUND) : [];
  const wanted = GRAPH.names ? typed : typed.replace(/^node\s+/, "");
  const found = [[], [], []];
  for (let i = 0; i < NODES; i++) {
    const level = matchLevel(folded(GRAPH.names ? GRAPH.names[i] : String(i)), wanted);
    if (level < 3 && found[level].length < MOST_FOUND) found[level].push(i);
  }
  return found.flat().slice(0, MOST_FOUND);
}

function factOf(node) {
  const ranked = worstFirst();
  if (ranked?.rank.has(node)) return WORDS.nodes.foundError(shortNumber(ranked.errors[node]));
  return WORDS.nodes.neighbours(GRAPH.neighbours(node).length);
}

function option(node, k) {
  const attributes = {
    role: "option",
    id: `found-${k}`,
    "aria-selected": String(k === foundAt),
    onpointerdown: (event) => {
      event.preventDefault();
      take(node);
    },
  };
  return make("li", attributes, make("span", {}, nodeName(node)), make("span", { class: "quiet" }, factOf(node)));
}

function noOption() {
  const attributes = { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" };
  return make("li", attributes, WORDS.nodes.noneFound);
}

function showFound(open) {
  const list = byId("found");
  const input = byId("search");
  foundNodes = open ? matches(input.value) : [];
  const empty = open && input.value.trim() && !foundNodes.length;
  list.hidden = !foundNodes.length && !empty;
  input.setAttribute("aria-expanded", String(!list.hidden));
  list.replaceChildren(...(empty ? [noOption()] : foundNodes.map(option)));
  if (foundAt >= 0) input.setAttribute("aria-activedescendant", `found-${foundAt}`);
  else input.removeAttribute("aria-activedescendant");
}

function take(node) {
  choose(node);
  byId("search").value = nodeName(node);
  foundAt = -1;
  showFound(false);
}

function moveInList(step) {
  if (byId("found").hidden) showFound(true);
  const count = foundNodes.length;
  if (count) foundAt = (foundAt + step + count) % count;
  showFound(true);
}

function searchKey(event) {
  event.stopPropagation();
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    moveInList(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter" && foundNodes.length) {
    take(foundNodes[Math.max(0, foundAt)]);
    panels[0].canvas.focus({ preventScroll: true });
  } else if (event.key === "Escape") {
    showFound(false);
    byId("search").blur();
  }
}

export function startSearch() {
  const input = byId("search");
  input.addEventListener("focus", () => {
    input.select();
    foundAt = -1;
    showFound(true);
  });
  input.addEventListener("blur", () => showFound(false));
  input.addEventListener("input", () => {
    foundAt = foundNodes.length || input.value ? 0 : -1;
    showFound(true);
  });
  input.addEventListener("keydown", searchKey);
}
