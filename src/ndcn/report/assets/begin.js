// What every page does when it begins: draw all, say that it is ready, or why it cannot be shown.

import { byId, make } from "./dom.js";
import { change, redrawAll, state } from "./state.js";
import { WORDS } from "./words.js";

const root = document.documentElement;

function ready() {
  new ResizeObserver(() => change({ size: state.size + 1 })).observe(root);
  redrawAll();
  requestAnimationFrame(() => {
    root.dataset.ready = String(Math.round(performance.now()));
  });
}

async function begun(start) {
  if (typeof DecompressionStream === "undefined") throw new Error(WORDS.page.oldBrowser);
  await start();
  ready();
}

export function begin(start) {
  begun(start).catch((error) => {
    root.dataset.failed = "";
    byId("notes").replaceChildren(make("p", { class: "note" }, WORDS.page.failed(error.message)));
    throw error;
  });
}
