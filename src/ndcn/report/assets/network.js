// The network, once for each kind of state, all with one layout and one zoom.

const PAD = 12;
const PANEL_NAMES = { truth: "Truth", prediction: "Prediction", error: "Error", std: "Spread" };
const panelKinds = (CONTENT.states.truth ? ["truth", "prediction", "error"] : ["prediction", "std"]).filter(
  (kind) => CONTENT.states[kind],
);
const panels = [];
let moving = null; // from one layout to the other: {from, began}

function unitPositions(layout) {
  return layout === "square" ? [GRAPH.column, GRAPH.row] : [GRAPH.x, GRAPH.y];
}

let placedKey = "",
  placed = null;
function geometry(width, height) {
  const { zoom, layout } = state;
  const share = moving ? ease((performance.now() - moving.began) / 420) : 1;
  const key = [width, height, zoom.k, zoom.x, zoom.y, layout, share].join();
  if (key === placedKey) return placed;
  const size = Math.min(width, height) - 2 * PAD,
    scale = size * zoom.k;
  const [ux, uy] = unitPositions(layout);
  const x = new Float32Array(NODES),
    y = new Float32Array(NODES);
  const [ox, oy] = moving ? unitPositions(moving.from) : [ux, uy];
  for (let i = 0; i < NODES; i++) {
    x[i] = width / 2 + (ox[i] + share * (ux[i] - ox[i]) - zoom.x) * scale;
    y[i] = height / 2 + (oy[i] + share * (uy[i] - oy[i]) - zoom.y) * scale;
  }
  const square = layout === "square" && share >= 1;
  const cell = scale / GRAPH.side / 2;
  const r = square
    ? Math.max(0.5, cell - (cell > 4 ? 0.75 : cell > 2 ? 0.25 : 0))
    : Math.max(1.3, Math.min(((size < 260 ? 0.36 : 0.27) * scale) / Math.sqrt(NODES), 9 * Math.sqrt(zoom.k)));
  placedKey = key;
  placed = { x, y, r, square, links: !square && share >= 1 };
  return placed;
}

function ease(t) {
  const s = Math.max(0, Math.min(1, t));
  return s * s * (3 - 2 * s);
}

function drawLinks(surface, g) {
  const { u, v } = GRAPH;
  const ends = new Float32Array(4 * u.length);
  for (let e = 0; e < u.length; e++) {
    ends[4 * e] = g.x[u[e]];
    ends[4 * e + 1] = g.y[u[e]];
    ends[4 * e + 2] = g.x[v[e]];
    ends[4 * e + 3] = g.y[v[e]];
  }
  const crowd = Math.max(1, u.length / NODES);
  surface.segments(
    ends,
    `rgba(${ink("link")},${Math.max(0.05, Math.min(0.5, 0.62 / crowd ** 0.75)).toFixed(3)})`,
    NODES > 1500 ? 0.5 : 0.8,
  );
}

function drawRings(surface, g) {
  // a thin rim, so that pale nodes stand out from the page
  surface.dots(g.x, g.y, g.r + Math.min(1, 0.3 * g.r), new Uint8Array(NODES), [ink("rim")], false);
}

const shadesOf = new Map();
function drawStates(surface, g, kind) {
  const { ramp, shade } = colouring(kind, state.feature, state.same);
  const now = snapshot(kind, state.feature, state.frame);
  if (!shadesOf.has(kind)) shadesOf.set(kind, new Int16Array(NODES));
  const shades = shadesOf.get(kind);
  let missing = 0;
  for (let i = 0; i < NODES; i++) {
    shades[i] = shade(now[i]);
    missing += shades[i] < 0;
  }
  if (missing) {
    const none = Int16Array.from(shades, (s) => (s < 0 ? 0 : -1));
    surface.dots(g.x, g.y, g.r, none, [ink("missing")], g.square);
  }
  surface.dots(g.x, g.y, g.r, shades, ramp, g.square);
  return missing;
}

function mark(surface, g, node, colour, thick) {
  const r = g.r + (g.square ? 0 : 2);
  if (g.square) {
    surface.frame(g.x[node] - r, g.y[node] - r, 2 * r, 2 * r, ink("card"), thick + 2);
    surface.frame(g.x[node] - r, g.y[node] - r, 2 * r, 2 * r, colour, thick);
  } else {
    surface.circle(g.x[node], g.y[node], r + 0.5, { stroke: ink("card"), thick: thick + 2 });
    surface.circle(g.x[node], g.y[node], r + 0.5, { stroke: colour, thick });
  }
}

function focusNeighbours() {
  const focus = state.hover ?? state.selected;
  return focus === null ? [] : GRAPH.neighbours(focus).subarray(0, 400);
}

function drawFocusLinks(surface, g) {
  const focus = state.hover ?? state.selected,
    shown = focusNeighbours();
  if (g.links && shown.length) {
    const ends = new Float32Array(4 * shown.length);
    shown.forEach((j, k) => ends.set([g.x[focus], g.y[focus], g.x[j], g.y[j]], 4 * k));
    surface.segments(ends, ink("ink"), 1.3);
  }
}

function drawMarks(surface, g) {
  for (const j of focusNeighbours()) {
    if (g.square) surface.frame(g.x[j] - g.r, g.y[j] - g.r, 2 * g.r, 2 * g.r, ink("ink"), 1.5);
    else surface.circle(g.x[j], g.y[j], g.r + 0.5, { stroke: ink("ink"), thick: 1.5 });
  }
  for (const node of shownNodes()) mark(surface, g, node, nodeColour(node), 2.5);
  if (state.hover !== null && !shownNodes().includes(state.hover)) mark(surface, g, state.hover, ink("ink"), 2);
}

function drawTip(surface, g, kind, width) {
  if (state.hover === null) return;
  const i = state.hover;
  const name = nodeName(i),
    words = `${name.length > 28 ? `${name.slice(0, 27)}…` : name}  ${shortNumber(value(kind, state.feature, state.frame, i))}`;
  const wide = 6.6 * words.length + 14;
  const x = Math.max(2, Math.min(width - wide - 2, g.x[i] - wide / 2)),
    y = g.y[i] > 44 ? g.y[i] - g.r - 30 : g.y[i] + g.r + 8;
  surface.rect(x, y, wide, 22, ink("ink"));
  surface.text(words, x + wide / 2, y + 15, { fill: ink("card"), size: 12, align: "center", weight: 500 });
}

function caption(kind, missing) {
  // what has to be known about the colours of a picture
  if (missing === NODES) return kind === "prediction" ? "nothing was forecast here" : "no data at this time";
  const parts = missing ? [`${missing} not observed`] : [];
  if (kind === "error") {
    const times = colouring("error", state.feature, state.same).magnified;
    parts.push(
      "prediction − truth",
      ...(times > 1.5 ? [`colours ${shortNumber(Number(times.toPrecision(2)))}× finer`] : []),
    );
  } else if (kind === "std") parts.push("one standard deviation");
  else if (CONTENT.scales[state.feature].gamma !== 1) parts.push("square-root scale");
  return parts.join(", ");
}

function drawNetwork(surface, kind, width, height) {
  // all of it, for pictures; how many nodes have no state
  const g = geometry(width, height);
  let missing = 0;
  surface.clip(0, 0, width, height, () => {
    if (g.links) drawLinks(surface, g);
    if (!g.square) drawRings(surface, g);
    drawFocusLinks(surface, g);
    missing = drawStates(surface, g, kind);
    drawMarks(surface, g);
  });
  return missing;
}

function drawScale(surface, kind, width) {
  const c = colouring(kind, state.feature, state.same),
    bar = Math.min(width, 260),
    left = (width - bar) / 2;
  for (let k = 0; k < 64; k++)
    surface.rect(left + (k * bar) / 64, 2, bar / 64 + 0.6, 8, c.ramp[Math.round((k * 255) / 63)]);
  const style = { fill: ink("quiet"), size: 11 };
  surface.text(shortNumber(c.low), left, 24, style);
  surface.text(shortNumber(c.at(0.5)), left + bar / 2, 24, { ...style, align: "center" });
  surface.text(shortNumber(c.high), left + bar, 24, { ...style, align: "right" });
}

class Panel {
  constructor(kind, parent) {
    this.kind = kind;
    this.note = make("span", { class: "quiet" });
    this.canvas = make("canvas", { tabindex: "0", role: "application" });
    this.scale = make("canvas", { class: "scale", "aria-hidden": "true" });
    this.base = document.createElement("canvas");
    this.baseKey = "";
    parent.append(
      make(
        "figure",
        { "data-kind": kind },
        make("figcaption", {}, make("strong", {}, PANEL_NAMES[kind]), this.note),
        this.canvas,
        this.scale,
      ),
    );
    listen(this);
  }

  draw() {
    const width = this.canvas.clientWidth,
      height = this.canvas.clientHeight;
    if (!width) return;
    const g = geometry(width, height),
      ctx = fitted(this.canvas, width, height),
      surface = new CanvasSurface(ctx);
    if (!g.square) this.drawBase(ctx, g, width, height);
    drawFocusLinks(surface, g);
    const missing = drawStates(surface, g, this.kind);
    drawMarks(surface, g);
    drawTip(surface, g, this.kind, width);
    this.describe(missing);
  }

  drawBase(ctx, g, width, height) {
    // links do not change with time: drawn once, then copied
    const key = [placedKey, themeNow(), window.devicePixelRatio].join();
    if (key !== this.baseKey) {
      const surface = new CanvasSurface(fitted(this.base, width, height));
      if (g.links) drawLinks(surface, g);
      drawRings(surface, g);
      this.baseKey = key;
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
    const label = `${PANEL_NAMES[this.kind]}: ${NODES} nodes coloured by ${FEATURES[state.feature]} at ${spokenTime(state.frame)}. Arrow keys move from node to node.`;
    this.canvas.setAttribute("aria-label", label);
  }
}

function nodeAt(x, y, g, reach) {
  let best = null,
    least = reach * reach;
  for (let i = 0; i < NODES; i++) {
    const dx = g.x[i] - x,
      dy = g.y[i] - y,
      d = dx * dx + dy * dy;
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
}

function listen(panel) {
  const canvas = panel.canvas;
  let drag = null;
  const under = (event) => {
    const g = geometry(canvas.clientWidth, canvas.clientHeight);
    return nodeAt(
      event.offsetX,
      event.offsetY,
      g,
      g.square ? 1.45 * g.r : Math.max(g.r + 4, event.pointerType === "touch" ? 18 : 9),
    );
  };
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, y: event.offsetY, zoom: state.zoom, far: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && event.buttons) {
      const dx = event.offsetX - drag.x,
        dy = event.offsetY - drag.y;
      drag.far ||= Math.hypot(dx, dy) > 5;
      if (drag.far && state.zoom.k > 1) {
        const scale = (Math.min(canvas.clientWidth, canvas.clientHeight) - 2 * PAD) * state.zoom.k;
        change({ zoom: { k: state.zoom.k, x: drag.zoom.x - dx / scale, y: drag.zoom.y - dy / scale }, hover: null });
      }
    } else if (event.pointerType !== "touch") change({ hover: under(event) });
  });
  canvas.addEventListener("pointerleave", () => change({ hover: null }));
  canvas.addEventListener("click", (event) => {
    const moved = drag && drag.far;
    drag = null;
    if (moved) return;
    const node = under(event);
    if (node !== null && event.shiftKey) togglePin(node);
    else choose(node);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY, canvas);
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (way) choose(nextNode(way));
    else if (event.key === "+" || event.key === "=") zoomBy(1.4);
    else if (event.key === "-") zoomBy(1 / 1.4);
    else if (event.key === "0") zoomBy(0);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function nextNode([wx, wy]) {
  if (state.selected === null) return 0;
  const [x, y] = unitPositions(state.layout),
    from = state.selected;
  let best = from,
    least = Infinity;
  for (let i = 0; i < NODES; i++) {
    const dx = x[i] - x[from],
      dy = y[i] - y[from],
      far = Math.hypot(dx, dy),
      ahead = (dx * wx + dy * wy) / (far || 1);
    if (i !== from && ahead > 0.5 && far * (2.5 - 1.5 * ahead) < least) {
      least = far * (2.5 - 1.5 * ahead);
      best = i;
    }
  }
  return best;
}

function zoomBy(factor, px = null, py = null, canvas = panels[0].canvas) {
  const old = state.zoom,
    k = factor === 0 ? 1 : Math.max(1, Math.min(24, old.k * factor));
  if (k === 1) return change({ zoom: { k: 1, x: 0.5, y: 0.5 } });
  const size = Math.min(canvas.clientWidth, canvas.clientHeight) - 2 * PAD;
  const dx = px === null ? 0 : (px - canvas.clientWidth / 2) / size,
    dy = py === null ? 0 : (py - canvas.clientHeight / 2) / size;
  let { x, y } = old;
  if (px === null && old.k === 1 && state.selected !== null) {
    // towards the node chosen
    const [ux, uy] = unitPositions(state.layout);
    [x, y] = [ux[state.selected], uy[state.selected]];
  }
  change({ zoom: { k, x: x + dx / old.k - dx / k, y: y + dy / old.k - dy / k } });
}

function setLayout(layout) {
  if (layout === state.layout) return;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches || NODES > 2000;
  moving = calm ? null : { from: state.layout, began: performance.now() };
  change({ layout, zoom: { k: 1, x: 0.5, y: 0.5 } });
  for (const input of document.querySelectorAll('input[name="layout"]')) input.checked = input.value === layout;
  if (moving) requestAnimationFrame(step);
  function step() {
    if (performance.now() - moving.began >= 420) moving = null;
    panels.forEach((panel) => panel.draw());
    if (moving) requestAnimationFrame(step);
  }
}

function startNetwork() {
  const parent = byId("panels");
  parent.dataset.count = panelKinds.length;
  for (const kind of panelKinds) panels.push(new Panel(kind, parent));
  watch(["frame", "feature", "layout", "selected", "hover", "pinned", "same", "zoom", "theme", "size"], () =>
    panels.forEach((panel) => panel.draw()),
  );
  watch(["feature", "same", "theme", "size"], () => panels.forEach((panel) => panel.drawScale()));
  watch(["zoom"], () => {
    byId("zoom-fit").disabled = state.zoom.k === 1;
    parent.classList.toggle("zoomed", state.zoom.k > 1);
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.6));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.6));
  byId("zoom-fit").addEventListener("click", () => zoomBy(0));
  for (const input of document.querySelectorAll('input[name="layout"]'))
    input.addEventListener("change", () => setLayout(input.value));
  if (panelKinds.includes("error")) {
    byId("same-label").hidden = false;
    byId("same").addEventListener("change", (event) => change({ same: event.target.checked }));
  }
}
