// Charts of curves and bars, drawn on a surface, with a table of the same numbers for those who cannot see them.

function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count),
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || rough;
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return out;
}

function logTicks(low, high) {
  const out = [];
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) out.push(10 ** p);
  if (out.length >= 2) return out.length > 7 ? out.filter((_, k) => k % Math.ceil(out.length / 6) === 0) : out;
  return [1, 2, 5]
    .flatMap((m) => [-1, 0, 1].map((p) => m * 10 ** (Math.floor(Math.log10(low)) + p + 1)))
    .filter((t) => t >= low && t <= high)
    .sort((a, b) => a - b);
}

function tickText(t) {
  const size = Math.abs(t);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return t.toExponential(0).replace("e+", "e").replaceAll("-", "−");
  return String(Number(t.toPrecision(6))).replace("-", "−");
}

const TIME_LABEL = CONTENT.dates ? "date" : "time";

function xTicks(spec, room) {
  // [place, words] of each; of dates the finest that have room
  if (!spec.clock || !CONTENT.ticks)
    return niceTicks(...spec.x, Math.max(2, Math.floor(room / 80))).map((t) => [t, tickText(t)]);
  const levels = CONTENT.ticks
    .map((ticks) => ticks.filter(([t]) => t >= spec.x[0] && t <= spec.x[1]))
    .filter((ticks) => ticks.length);
  return levels.find((ticks) => ticks.length * (6.3 * ticks[0][1].length + 18) <= room) || [];
}

// spec: x, y [low, high]; log; clock, if x is time; xlabel, ylabel; spans [{from, to, fill}]; cursor; series [{kind: line | area | dots | bars, ...}]
function drawChart(surface, width, height, spec) {
  const yTicks = spec.log ? logTicks(...spec.y) : niceTicks(...spec.y, Math.max(2, Math.floor(height / 55)));
  const left = 22 + 6.3 * Math.max(2, ...yTicks.map((t) => tickText(t).length)),
    right = width - 12,
    top = 8,
    bottom = height - 38;
  const warp = spec.log ? Math.log10 : (v) => v;
  const [lo, hi] = spec.y.map(warp);
  const px = (v) => left + ((v - spec.x[0]) / (spec.x[1] - spec.x[0])) * (right - left);
  const py = (v) => bottom - ((warp(v) - lo) / (hi - lo)) * (bottom - top);
  const quiet = { fill: ink("quiet"), size: 11 };
  for (const span of spec.spans || [])
    surface.rect(px(span.from), top, px(span.to) - px(span.from), bottom - top, span.fill);
  for (const t of yTicks) {
    surface.segments([left, py(t), right, py(t)], ink("grid"), 1);
    surface.text(tickText(t), left - 6, py(t) + 4, { ...quiet, align: "right" });
  }
  for (const [t, words] of xTicks(spec, right - left)) {
    surface.segments([px(t), bottom, px(t), bottom + 4], ink("quiet"), 1);
    if (px(t) + 3.2 * words.length <= width) surface.text(words, px(t), bottom + 17, { ...quiet, align: "center" });
  }
  surface.segments([left, bottom, right, bottom], ink("quiet"), 1);
  surface.text(spec.xlabel, (left + right) / 2, height - 5, { ...quiet, align: "center" });
  surface.text(spec.ylabel, 11, (top + bottom) / 2, { ...quiet, align: "center", turn: -Math.PI / 2 });
  surface.clip(left, top - 4, right - left + 6, bottom - top + 8, () => {
    for (const s of spec.series) drawSeries(surface, s, px, py, bottom, spec.log);
    if (spec.cursor !== undefined) surface.segments([px(spec.cursor), top, px(spec.cursor), bottom], ink("ink"), 1.2);
    for (const m of spec.marks || []) {
      surface.segments([px(m.x), top, px(m.x), bottom], m.colour, 2);
      surface.circle(px(m.x), top + 4, 4, { fill: m.colour });
    }
  });
  return { fromX: (p) => spec.x[0] + ((p - left) / (right - left)) * (spec.x[1] - spec.x[0]) };
}

function drawSeries(surface, s, px, py, bottom, log) {
  const fine = (v) => v !== null && Number.isFinite(v) && (!log || v > 0);
  const clamp = (p) => Math.max(-1e4, Math.min(1e4, p));
  if (s.kind === "bars") {
    s.y.forEach((v, k) => {
      if (v > 0)
        surface.rect(
          px(s.edges[k]) + 0.5,
          py(v),
          Math.max(1, px(s.edges[k + 1]) - px(s.edges[k]) - 1),
          bottom - py(v),
          s.colour,
        );
    });
  } else if (s.kind === "dots") {
    s.x.forEach((v, k) => {
      if (!fine(s.y[k])) return;
      const hollow = s.hollow && s.hollow[k];
      surface.circle(
        px(v),
        clamp(py(s.y[k])),
        s.size || 2.6,
        hollow ? { fill: ink("card"), stroke: s.colour, thick: 1.4 } : { fill: s.colour },
      );
    });
  } else if (s.kind === "area") {
    const use = s.x.map((_, k) => k).filter((k) => fine(s.low[k]) && fine(s.high[k]));
    const outline = [
      ...use.map((k) => [px(s.x[k]), clamp(py(s.high[k]))]),
      ...use.reverse().map((k) => [px(s.x[k]), clamp(py(s.low[k]))]),
    ];
    surface.path(outline, { fill: s.colour, close: true });
  } else {
    surface.path(
      s.x
        .map((v, k) => (fine(s.y[k]) ? [px(v), clamp(py(s.y[k]))] : s.gaps === false ? undefined : null))
        .filter((p) => p !== undefined),
      { stroke: s.colour, thick: s.thick || 2, dash: s.dash || [] },
    );
  }
}

function spanOf(lists, { zero = false, room = 0.05 } = {}) {
  let low = Infinity,
    high = -Infinity;
  for (const list of lists)
    for (const v of list)
      if (v !== null && Number.isFinite(v)) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
  if (low > high) return [0, 1];
  if (zero) low = Math.min(0, low);
  if (high - low < 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-12)) {
    const pad = Math.abs(high) * 0.5 || 0.5;
    return [low - pad, high + pad];
  }
  const pad = room * (high - low);
  return [zero && low === 0 ? 0 : low - pad, high + pad];
}

const charts = new Map(); // by canvas
const sight = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => charts.get(target).sees(isIntersecting)),
  { rootMargin: "200px" },
);
addEventListener("beforeprint", () => charts.forEach((chart) => chart.sees(true)));

class Chart {
  // spec() and table() are asked when needed; table() gives rows, the first with the headings. Off screen nothing is drawn.
  constructor(parent, { title, name = title, height, spec, table, legend = null, pick = null }) {
    Object.assign(this, { height, spec, table, pick, places: null, seen: false, stale: false });
    this.canvas = make("canvas", { role: "img", class: "chart" });
    this.canvas.style.height = `${height}px`;
    this.rows = make("div", { class: "scroll" });
    this.details = make(
      "details",
      { class: "numbers", ontoggle: () => this.fill() },
      make("summary", {}, "As a table"),
      this.rows,
    );
    parent.append(
      make(
        "figure",
        { class: "chart-figure" },
        make("figcaption", {}, make("strong", {}, title)),
        this.canvas,
        ...(legend ? [legend] : []),
        this.details,
      ),
    );
    this.canvas.setAttribute("aria-label", `Chart: ${name}. The same numbers are in the table below it.`);
    charts.set(this.canvas, this);
    sight.observe(this.canvas);
    if (pick) {
      const at = (event) => {
        if (this.places) pick(this.places.fromX(event.offsetX));
      };
      this.canvas.classList.add("pickable");
      this.canvas.addEventListener("pointerdown", at);
      this.canvas.addEventListener("pointermove", (event) => {
        if (event.buttons && event.pointerType !== "touch") at(event);
      });
    }
  }

  sees(seen) {
    this.seen = seen;
    if (seen && this.stale) this.draw();
  }

  draw() {
    this.stale = !this.seen;
    if (this.stale) return;
    const width = this.canvas.clientWidth;
    if (!width) return;
    this.places = drawChart(
      new CanvasSurface(fitted(this.canvas, width, this.height)),
      width,
      this.height,
      this.spec(),
    );
  }

  fill() {
    if (this.details.open) this.rows.replaceChildren(tableOf(this.table()));
  }
}

function tableOf([headings, ...lines]) {
  const cell = (v) => (typeof v === "number" ? shortNumber(v) : v === null ? "–" : v);
  const head = make("thead", {}, make("tr", {}, ...headings.map((h) => make("th", { scope: "col" }, h))));
  const body = make(
    "tbody",
    {},
    ...lines
      .slice(0, 1000)
      .map((line) =>
        make("tr", {}, ...line.map((v, k) => (k ? make("td", {}, cell(v)) : make("th", { scope: "row" }, cell(v))))),
      ),
  );
  return make("table", {}, head, body);
}

function key(sign, words, colour = null) {
  const mark = make("span", { "aria-hidden": "true", class: "sign" }, sign);
  if (colour) mark.style.color = colour;
  return make("li", {}, mark, words);
}
