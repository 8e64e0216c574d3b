// Colours, all safe for the colour-blind: a map of states, one of errors around zero, a few for nodes compared.

import { CONTENT } from "./data.js";

export const SHADES = 256;
const PALETTE = {
  // Okabe and Ito, lightened for a dark page
  light: ["#0072b2", "#d55e00", "#008560", "#b5578f", "#a67300", "#3b3b3b"],
  dark: ["#56b4e9", "#ff8a3d", "#2fc79a", "#e09ac4", "#f0c04a", "#d8d8d8"],
};
const DIVERGING = {
  light: ["#053c6b", "#1f77b8", "#8dc0e3", "#f1f0ec", "#f2b482", "#d1600f", "#7a2f00"],
  dark: ["#bfe3ff", "#58b0ee", "#23638f", "#262b31", "#8a4a1a", "#ee8733", "#ffdcb8"],
};

function rgb(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

function interpolated(stops) {
  const parts = stops.map(rgb);
  return Array.from({ length: SHADES }, (_, k) => {
    const at = (k / (SHADES - 1)) * (parts.length - 1);
    const low = Math.min(Math.floor(at), parts.length - 2);
    const share = at - low;
    const mixed = parts[low].map((c, j) => Math.round(c + share * (parts[low + 1][j] - c)));
    return `rgb(${mixed.join(",")})`;
  });
}

export const darkWished = matchMedia("(prefers-color-scheme: dark)");
const STATE_RAMP = interpolated(CONTENT.colours);
const ERROR_RAMP = { light: interpolated(DIVERGING.light), dark: interpolated(DIVERGING.dark) };

export function themeNow() {
  return document.documentElement.dataset.theme || (darkWished.matches ? "dark" : "light");
}

export function palette() {
  return PALETTE[themeNow()];
}

// Colours of the style sheet, kept until the theme changes.
let styles = null;

export function ink(name) {
  if (!styles) styles = getComputedStyle(document.documentElement);
  return styles.getPropertyValue(`--${name}`).trim();
}

export function forgetInks() {
  styles = null;
}

const between = (x, low, high) => Math.max(low, Math.min(high, x));

function errorColouring(scale, sameScale) {
  const span = scale.high - scale.low;
  const size = sameScale ? span : scale.error;
  return {
    ramp: ERROR_RAMP[themeNow()],
    low: -size,
    high: size,
    gamma: 1,
    magnified: span / size,
    shade: (x) => (Number.isNaN(x) ? -1 : between(Math.round(127.5 + (127.5 * x) / size), 0, 255)),
    at: (share) => -size + 2 * size * share,
  };
}

// How one kind of states is coloured: a ramp, and the shade 0..255 of a number, or -1 where there is none.
export function colouring(kind, feature, sameScale) {
  const scale = CONTENT.scales[feature];
  if (kind === "error") return errorColouring(scale, sameScale);
  const [low, high, gamma] = kind === "std" ? [0, scale.std, 1] : [scale.low, scale.high, scale.gamma];
  return {
    ramp: STATE_RAMP,
    low,
    high,
    gamma,
    magnified: 1,
    shade: (x) => (Number.isNaN(x) ? -1 : Math.round(255 * between((x - low) / (high - low), 0, 1) ** gamma)),
    at: (share) => low + (high - low) * share ** (1 / gamma),
  };
}
