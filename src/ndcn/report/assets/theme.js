// Light and dark.

import { darkWished, forgetInks, themeNow } from "./colour.js";
import { byId } from "./dom.js";
import { change, state } from "./state.js";

function themeChanged() {
  forgetInks();
  change({ theme: state.theme + 1 });
}

export function switchTheme() {
  document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark";
  themeChanged();
}

export function startTheme() {
  byId("theme").addEventListener("click", switchTheme);
  darkWished.addEventListener("change", themeChanged);
}
