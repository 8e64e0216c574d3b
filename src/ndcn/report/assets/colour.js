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

// Classes --------------------------------------------------------------------------------------------------------

const GOLDEN = 137.508; // degrees between the hues of classes beyond the palette
const FIRST_HUE = 105; // of these: it keeps up to ten classes farthest apart in Lab, at least 17, and eight 27

function hueColour(code) {
  const light = themeNow() === "dark" ? 0.68 : 0.45;
  const hue = (FIRST_HUE + (code - palette().length + 1) * GOLDEN) % 360;
  const spread = 0.55 * Math.min(light, 1 - light);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return `#${[0, 8, 4].map((n) => part(n).toString(16).padStart(2, "0")).join("")}`;
}

// The last of the palette is grey, as is a node without a class.
export function classColour(code) {
  const known = palette();
  return code < known.length - 1 ? known[code] : hueColour(code);
}

const FAINT = 0.18; // of its colour is left to a class that is no likelier than the others
let classRamps = { theme: null };

// Shades of all classes, from faint to full, and how many each has.
function classRamp() {
  if (classRamps.theme === themeNow()) return classRamps;
  const count = Math.min(SHADES, CONTENT.classes.names.length);
  const levels = Math.min(16, Math.floor(SHADES / count));
  const ground = rgb(ink("card"));
  const ramp = Array.from({ length: count * levels }, (_, s) => {
    const share = levels > 1 ? FAINT + ((1 - FAINT) * (s % levels)) / (levels - 1) : 1;
    const full = rgb(classColour(Math.floor(s / levels)));
    return `rgb(${full.map((c, j) => Math.round(ground[j] + share * (c - ground[j]))).join(",")})`;
  });
  classRamps = { theme: themeNow(), ramp, levels, count };
  return classRamps;
}

// A class as its place, plus how sure it is, from 0 to just below 1.
function classColouring(kind) {
  if (kind === "confidence") return plainColouring(1 / Math.max(2, CONTENT.classes.names.length), 1, 1);
  const { ramp, levels, count } = classRamp();
  const shade = (x) => (Math.floor(x) % count) * levels + Math.floor((x % 1) * levels);
  return { ramp, shade: (x) => (Number.isNaN(x) ? -1 : shade(x)) };
}

// How one kind of states is coloured: a ramp, and the shade 0..255 of a number, or -1 where there is none.
export function colouring(kind, feature, sameScale) {
  if (CONTENT.classes) return classColouring(kind);
  const scale = CONTENT.scales[feature];
  if (kind === "error") return errorColouring(scale, sameScale);
  return kind === "std" ? plainColouring(0, scale.std, 1) : plainColouring(scale.low, scale.high, scale.gamma);
}

// Between two numbers, with equal steps for gamma 1.
export function plainColouring(low, high, gamma) {
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
