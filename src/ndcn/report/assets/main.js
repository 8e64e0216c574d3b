// Putting the page of dynamics together, and its keys.

import { begin } from "./begin.js";
import { FEATURES, unpack } from "./data.js";
import { byId, make } from "./dom.js";
import { startDownloads } from "./downloads.js";
import { startFacts } from "./facts.js";
import { startNodes } from "./nodes.js";
import { openOnTheMostInteresting } from "./opening.js";
import { setLayout, startPanels } from "./panels.js";
import { startRanking } from "./ranking.js";
import { startSearch } from "./search.js";
import { startSections } from "./sections.js";
import { change, state, togglePin } from "./state.js";
import { startTheme, switchTheme } from "./theme.js";
import { moveByKey, setPlaying, startTimeline } from "./timeline.js";

function startVariable() {
  if (FEATURES.length < 2) return;
  byId("variable-label").hidden = false;
  byId("variable").append(...FEATURES.map((name, k) => make("option", { value: String(k) }, name)));
  byId("variable").addEventListener("change", (event) => change({ feature: Number(event.target.value) }));
}

// Keys -----------------------------------------------------------------------------------------------------------

const KEYS = {
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
  l: () => setLayout(state.layout === "square" ? "network" : "square"),
  p: () => togglePin(state.selected),
  d: switchTheme,
};
const SCROLL_KEYS = ["ArrowUp", "ArrowDown", "PageUp", "PageDown"];

// Whether the key did something.
function act(event) {
  const on = event.target;
  const onButton = on.matches("button, a, summary, input[type=radio], input[type=checkbox]");
  const action = KEYS[event.key.toLowerCase()];
  if (event.key === " " && !onButton) setPlaying(!state.playing);
  else if (action) action();
  else return !SCROLL_KEYS.includes(event.key) && !on.matches("input[type=radio]") && moveByKey(event);
  return true;
}

function startKeys() {
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    if (act(event)) event.preventDefault();
  });
}

begin(async () => {
  await unpack();
  startVariable();
  startRanking();
  startPanels();
  startTimeline();
  startSearch();
  startNodes();
  startFacts();
  startSections();
  startDownloads();
  startKeys();
  startTheme();
  openOnTheMostInteresting();
});
