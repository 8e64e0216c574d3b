// The slider of time: moments as marks by kind, play and pause, keys.

import { key } from "./chart.js";
import { ink, palette } from "./colour.js";
import { CONTENT, FIRST_TIME, FORECAST, FRAMES, framesOf, kindName, LAST_TIME, TIMES } from "./data.js";
import { byId, make } from "./dom.js";
import { TIME_LABEL, timeText } from "./format.js";
import { change, reading, say, state, watch } from "./state.js";
import { CanvasSurface, fitted } from "./surface.js";
import { WORDS } from "./words.js";

const SECONDS = 9; // from the first to the last moment at speed 1
const LONGEST_TICK = 200; // milliseconds
const slider = byId("time");
let clockTime = 0;
let lastTick = null;
let moved = false; // whether somebody has chosen a moment

function kindColour(kind) {
  const [blue, orange] = palette();
  return { i: blue, e: orange }[kind] ?? ink("quiet");
}

function nearestFrame(time) {
  let low = 0;
  let high = FRAMES - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (TIMES[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time - TIMES[low - 1] <= TIMES[low] - time ? low - 1 : low;
}

function setFrame(frame) {
  change({ frame: Math.max(0, Math.min(FRAMES - 1, frame)) });
}

export function goTo(time) {
  moved = true;
  setPlaying(false);
  setFrame(nearestFrame(time));
}

// What charts over time share: their axis, the training window and the moment shown.
export function timeAxis(from = FIRST_TIME) {
  const until = Math.min(CONTENT.trained_until, LAST_TIME);
  const trained = { from, to: until, fill: ink("window-soft") };
  return {
    x: [from, LAST_TIME],
    xlabel: TIME_LABEL,
    clock: true,
    spans: until > from ? [trained] : [],
    cursor: TIMES[state.frame],
  };
}

function showTime() {
  const k = state.frame;
  const kind = kindName(k);
  if (!state.playing || Number(slider.value) !== TIMES[k]) slider.value = TIMES[k];
  slider.setAttribute("aria-valuetext", WORDS.timeline.value(timeText(k), kind, k + 1, FRAMES));
  byId("clock").textContent = timeText(k);
  byId("kind").textContent = kind;
  byId("kind").dataset.kind = CONTENT.kinds[k];
  if (!state.playing && state.selected !== null) say(reading(state.selected));
}

// Play -----------------------------------------------------------------------------------------------------------

export function setPlaying(playing) {
  if (playing && (state.frame >= FRAMES - 1 || !moved)) setFrame(0);
  moved ||= playing;
  lastTick = null;
  clockTime = TIMES[state.frame];
  change({ playing });
  if (playing) requestAnimationFrame(tick);
}

function tick(now) {
  if (!state.playing) return;
  if (lastTick !== null) {
    const passed = Math.min(now - lastTick, LONGEST_TICK) / 1000;
    clockTime += (passed / SECONDS) * Number(byId("speed").value) * (LAST_TIME - FIRST_TIME);
  }
  lastTick = now;
  let k = state.frame;
  while (k < FRAMES - 1 && TIMES[k + 1] <= clockTime) k++;
  setFrame(k);
  if (k >= FRAMES - 1) setPlaying(false);
  else requestAnimationFrame(tick);
}

// Marks ----------------------------------------------------------------------------------------------------------

const EDGE = 8; // between the marks and the ends of the canvas

function drawMoment(surface, x, k) {
  const kind = CONTENT.kinds[k];
  const colour = kindColour(kind);
  if ("tga".includes(kind) || (kind === "w" && k % 10 === 0)) {
    surface.segments([x, 14, x, 19], colour, 1);
  } else if (kind === "i") {
    surface.segments([x, 9, x, 19], colour, 1);
    surface.circle(x, 7, 2.6, { fill: colour });
  } else if (kind === "e") {
    const diamond = [
      [x, 4],
      [x + 3.4, 8],
      [x, 12],
      [x - 3.4, 8],
    ];
    surface.path(diamond, { fill: colour, close: true });
    surface.segments([x, 12, x, 19], colour, 1);
  }
}

function drawMoments() {
  const canvas = byId("marks");
  const width = canvas.clientWidth;
  if (!width) return;
  const surface = new CanvasSurface(fitted(canvas, width, 26));
  const at = (t) => EDGE + ((t - FIRST_TIME) / (LAST_TIME - FIRST_TIME || 1)) * (width - 2 * EDGE);
  const trained = at(Math.min(CONTENT.trained_until, LAST_TIME)) - EDGE;
  if (trained > 0) surface.rect(EDGE, 20, trained, 5, ink("window"));
  const lastData = framesOf("tiegwa").at(-1);
  const hatched = lastData === undefined ? EDGE : at(TIMES[lastData]);
  for (let x = hatched + 3; x < width - EDGE; x += 6) surface.segments([x, 25, x + 5, 20], ink("quiet"), 1);
  TIMES.forEach((t, k) => {
    drawMoment(surface, at(t), k);
  });
}

function legendOf(kind, sign) {
  const frames = framesOf(kind);
  if (!frames.length) return null;
  return key(sign, WORDS.timeline.legend(kindName(frames[0]), frames.length), kindColour(kind));
}

function swatch(name, words) {
  return make("li", {}, make("span", { class: `swatch ${name}`, "aria-hidden": "true" }), words);
}

function fillLegend() {
  const later = framesOf("f");
  const items = [
    legendOf("t", "❘"),
    legendOf("i", "●"),
    legendOf("e", "◆"),
    FORECAST ? null : swatch("window", WORDS.timeline.window),
    later.length ? swatch("hatch", kindName(later[0])) : null,
  ];
  byId("legend").replaceChildren(...items.filter(Boolean));
}

// Start ----------------------------------------------------------------------------------------------------------

function showPlaying() {
  const button = byId("play");
  button.classList.toggle("playing", state.playing);
  button.setAttribute("aria-label", state.playing ? WORDS.timeline.pause : WORDS.timeline.play);
}

export function startTimeline() {
  slider.min = FIRST_TIME;
  slider.max = LAST_TIME;
  slider.value = FIRST_TIME;
  slider.addEventListener("input", () => goTo(Number(slider.value)));
  slider.addEventListener("change", () => {
    slider.value = TIMES[state.frame];
  });
  slider.addEventListener("keydown", (event) => {
    if (!moveByKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  byId("play").addEventListener("click", () => setPlaying(!state.playing));
  watch(["frame"], showTime);
  watch(["theme", "size"], () => {
    drawMoments();
    fillLegend();
  });
  watch(["playing"], () => {
    showPlaying();
    showTime();
  });
  showPlaying();
}

export function moveByKey(event) {
  const { frame } = state;
  const step = event.shiftKey ? 10 : 1;
  const to = {
    ArrowRight: frame + step,
    ArrowUp: frame + step,
    ArrowLeft: frame - step,
    ArrowDown: frame - step,
    PageUp: frame + 10,
    PageDown: frame - 10,
    Home: 0,
    End: FRAMES - 1,
  }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  moved = true;
  setPlaying(false);
  setFrame(to);
  return true;
}
