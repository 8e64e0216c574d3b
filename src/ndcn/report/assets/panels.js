// The network on the page, once for each kind of state, all with one layout and one zoom.

import { themeNow } from "./colour.js";
import { CONTENT, FEATURES, NODES } from "./data.js";
import { byId, make } from "./dom.js";
import { spokenTime } from "./format.js";
import {
  caption,
  drawBackground,
  drawForeground,
  drawScale,
  drawTip,
  geometry,
  innerSize,
  panelName,
  startMoving,
  stillMoving,
  unitPositions,
} from "./network.js";
import { change, choose, state, togglePin, watch } from "./state.js";
import { CanvasSurface, fitted } from "./surface.js";
import { WORDS } from "./words.js";

const OF_CLASSES = ["label", "predicted", "confidence"];
const wanted = CONTENT.states.truth ? ["truth", "prediction", "error"] : ["prediction", "std"];
export const panelKinds = CONTENT.classes ? OF_CLASSES : wanted.filter((kind) => CONTENT.states[kind]);
export const panels = [];

const WHOLE = { k: 1, x: 0.5, y: 0.5 };
const MOST_ZOOM = 24;

class Panel {
  constructor(kind, parent) {
    this.kind = kind;
    this.note = make("span", { class: "quiet" });
    this.canvas = make("canvas", { tabindex: "0", role: "application" });
    this.scale = make("canvas", { class: "scale", "aria-hidden": "true" });
    this.base = document.createElement("canvas");
    this.baseKey = "";
    this.name = make("strong", {}, WORDS.panels.names[kind]);
    parent.append(
      make("figure", { "data-kind": kind }, make("figcaption", {}, this.name, this.note), this.canvas, this.scale),
    );
    listenToPointer(this.canvas);
    listenToWheel(this.canvas);
    listenToKeys(this.canvas);
  }

  draw() {
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    if (!width) return;
    const g = geometry(width, height);
    const ctx = fitted(this.canvas, width, height);
    const surface = new CanvasSurface(ctx);
    if (!g.square) this.drawBase(ctx, g, width, height);
    const missing = drawForeground(surface, g, this.kind);
    drawTip(surface, g, this.kind, width);
    this.describe(missing);
  }

  // Links do not change with time: they are drawn once, then copied.
  drawBase(ctx, g, width, height) {
    const baseKey = [g.key, themeNow(), window.devicePixelRatio].join();
    if (baseKey !== this.baseKey) {
      drawBackground(new CanvasSurface(fitted(this.base, width, height)), g);
      this.baseKey = baseKey;
    }
    ctx.drawImage(this.base, 0, 0, width, height);
  }

  drawScale() {
    const width = this.scale.clientWidth;
    if (width) drawScale(new CanvasSurface(fitted(this.scale, width, 30)), this.kind, width);
  }

  describe(missing) {
    const words = caption(this.kind, missing);
    if (this.note.textContent !== words) this.note.textContent = words;
    const name = panelName(this.kind);
    if (this.name.textContent !== name) this.name.textContent = name;
    this.canvas.setAttribute("aria-label", panelLabel(name));
  }
}

function panelLabel(name) {
  if (CONTENT.classes) return WORDS.classes.panel(name, NODES);
  return WORDS.panels.label(name, NODES, FEATURES[state.feature], spokenTime(state.frame));
}

// Pointer, wheel and keys ------------------------------------------------------------------------------------------

function nearestNode(x, y, g, reach) {
  let best = null;
  let least = reach * reach;
  for (let i = 0; i < NODES; i++) {
    const dx = g.x[i] - x;
    const dy = g.y[i] - y;
    const d = dx * dx + dy * dy;
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

function nodeUnder(event, canvas) {
  const g = geometry(canvas.clientWidth, canvas.clientHeight);
  const finger = event.pointerType === "touch" ? 18 : 9;
  const reach = g.square ? 1.45 * g.r : Math.max(g.r + 4, finger);
  return nearestNode(event.offsetX, event.offsetY, g, reach);
}

function listenToPointer(canvas) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, zoom: state.zoom, far: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.buttons) {
      const dx = event.offsetX - drag.x;
      const dy = event.offsetY - drag.y;
      drag.far ||= Math.hypot(dx, dy) > 5;
      if (drag.far) pan(drag.zoom, dx, dy, canvas);
    } else if (event.pointerType !== "touch") change({ hover: nodeUnder(event, canvas) });
  });
  canvas.addEventListener("pointerleave", () => change({ hover: null }));
  canvas.addEventListener("click", (event) => {
    const moved = drag?.far;
    drag = null;
    if (moved) return;
    const node = nodeUnder(event, canvas);
    if (node !== null && event.shiftKey) togglePin(node);
    else choose(node);
  });
}

function listenToWheel(canvas) {
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY, canvas);
    },
    { passive: false },
  );
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ZOOM_KEYS = { "+": 1.4, "=": 1.4, "-": 1 / 1.4, 0: 0 };

function listenToKeys(canvas) {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in DIRECTIONS) choose(nextNode(DIRECTIONS[event.key]));
    else if (event.key in ZOOM_KEYS) zoomBy(ZOOM_KEYS[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// The node nearest to the one chosen in that direction; what is off to the side counts as farther.
function nextNode([wx, wy]) {
  const from = state.selected;
  if (from === null) return 0;
  const [x, y] = unitPositions(state.layout);
  let best = from;
  let least = Infinity;
  for (let i = 0; i < NODES; i++) {
    const dx = x[i] - x[from];
    const dy = y[i] - y[from];
    const far = Math.hypot(dx, dy);
    const ahead = (dx * wx + dy * wy) / (far || 1);
    const cost = far * (2.5 - 1.5 * ahead);
    if (i !== from && ahead > 0.5 && cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

// Zoom and layout ------------------------------------------------------------------------------------------------

function pan(from, dx, dy, canvas) {
  const { k } = state.zoom;
  if (k <= 1) return;
  const scale = innerSize(canvas.clientWidth, canvas.clientHeight) * k;
  change({ zoom: { k, x: from.x - dx / scale, y: from.y - dy / scale }, hover: null });
}

// Around a place on the canvas, or around its middle; first of all towards the node chosen. By 0: the whole network.
function zoomBy(factor, px = null, py = null, canvas = panels[0].canvas) {
  const old = state.zoom;
  const k = factor === 0 ? 1 : Math.max(1, Math.min(MOST_ZOOM, old.k * factor));
  if (k === 1) {
    change({ zoom: { ...WHOLE } });
    return;
  }
  const { clientWidth: width, clientHeight: height } = canvas;
  const size = innerSize(width, height);
  const dx = px === null ? 0 : (px - width / 2) / size;
  const dy = py === null ? 0 : (py - height / 2) / size;
  let { x, y } = old;
  if (px === null && old.k === 1 && state.selected !== null) {
    const [ux, uy] = unitPositions(state.layout);
    x = ux[state.selected];
    y = uy[state.selected];
  }
  change({ zoom: { k, x: x + dx / old.k - dx / k, y: y + dy / old.k - dy / k } });
}

function drawPanels() {
  for (const panel of panels) panel.draw();
}

function drawWhileMoving() {
  const more = stillMoving();
  drawPanels();
  if (more) requestAnimationFrame(drawWhileMoving);
}

const layoutInputs = document.querySelectorAll('input[name="layout"]');

export function setLayout(layout) {
  if (layout === state.layout) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches || NODES > 2000;
  if (!calm) startMoving(state.layout);
  change({ layout, zoom: { ...WHOLE } });
  for (const input of layoutInputs) input.checked = input.value === layout;
  if (!calm) requestAnimationFrame(drawWhileMoving);
}

export function startPanels() {
  const parent = byId("panels");
  parent.dataset.count = panelKinds.length;
  for (const kind of panelKinds) panels.push(new Panel(kind, parent));
  watch(["frame", "feature", "layout", "selected", "hover", "pinned", "same", "zoom", "theme", "size"], drawPanels);
  watch(["feature", "same", "theme", "size"], () => {
    for (const panel of panels) panel.drawScale();
  });
  watch(["zoom"], () => {
    byId("zoom-fit").disabled = state.zoom.k === 1;
    parent.classList.toggle("zoomed", state.zoom.k > 1);
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.6));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  byId("zoom-fit").addEventListener("click", () => zoomBy(0));
  for (const input of layoutInputs) input.addEventListener("change", () => setLayout(input.value));
  if (CONTENT.graph.placed) layoutInputs[0].nextElementSibling.textContent = WORDS.panels.map;
  if (!panelKinds.includes("error")) return;
  byId("same-label").hidden = false;
  byId("same").addEventListener("change", (event) => change({ same: event.target.checked }));
}
