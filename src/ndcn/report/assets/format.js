// Numbers and times as text; times are dates where the data have dates.

import { CONTENT, FIRST_TIME, LAST_TIME, TIMES } from "./data.js";
import { WORDS } from "./words.js";

export const NOTHING = "–";

const withMinus = (text) => text.replaceAll("-", "−");

const powerOf = (x) => Number(x.toExponential().split("e")[1]);

// Rounded to so many digits, halves up, from the digits that tables have: 0.12345 is halfway, whatever its binary form.
function toDigits(x, digits) {
  const [mantissa, power] = Math.abs(x).toExponential().split("e");
  const all = mantissa.replace(".", "");
  if (all.length <= digits) return x;
  const kept = Number(all.slice(0, digits)) + (all[digits] >= "5" ? 1 : 0);
  return Math.sign(x) * Number(`${kept}e${Number(power) - digits + 1}`);
}

// Four digits or more: below ten million none before the point is rounded away.
export function shortNumber(x) {
  if (!Number.isFinite(x)) return NOTHING;
  const power = powerOf(x);
  const near = toDigits(x, power > 3 && power < 7 ? power + 1 : 4);
  const size = Math.abs(near);
  const plain = size === 0 || (size >= 1e-3 && size < 1e7);
  return withMinus(plain ? String(near) : near.toExponential().replace("e+", "e"));
}

export function roundedNumber(x, digits) {
  return shortNumber(toDigits(x, digits));
}

export function percent(x) {
  if (x === null || x === undefined) return NOTHING;
  return x > 0 && x < 1e-4 ? "< 0.01 %" : `${Number((100 * x).toPrecision(3))} %`;
}

// Dates without zone, seconds and hours where they say nothing.
function shortDates(texts) {
  let out = texts.map((text) => text.replace(/[+-]\d\d:\d\d$/, "").replace("T", " "));
  if (out.every((text) => /:\d\d:00$/.test(text))) out = out.map((text) => text.slice(0, -3));
  return out.every((text) => text.endsWith(" 00:00")) ? out.map((text) => text.slice(0, -6)) : out;
}

const DATES = CONTENT.dates && shortDates(CONTENT.dates);
export const TIME_LABEL = CONTENT.dates ? WORDS.time.dateAxis : WORDS.time.axis;

const timeMagnitude = Math.floor(Math.log10(Math.max(1e-9, LAST_TIME - FIRST_TIME)));
const timeDigits = Math.max(0, Math.min(12, 2 - timeMagnitude));

const bareTime = (frame) => (DATES ? DATES[frame] : withMinus(TIMES[frame].toFixed(timeDigits)));

export function timeText(frame) {
  return DATES ? bareTime(frame) : WORDS.time.equals + bareTime(frame);
}

export function spokenTime(frame) {
  return DATES ? DATES[frame] : WORDS.time.spoken(shortNumber(TIMES[frame]));
}

export function spanText(from, to) {
  return WORDS.time.span(timeText(from), bareTime(to), CONTENT.zone);
}

export function tableTime(frame) {
  return DATES ? DATES[frame] : TIMES[frame];
}

export function fileTime(frame) {
  const text = DATES ? DATES[frame].replace(" ", "T") : `t${bareTime(frame)}`;
  return text.replaceAll(":", "");
}
