// Two surfaces with the same few strokes: a canvas, and an SVG picture for download.

import { SHADES } from "./colour.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export class CanvasSurface {
  constructor(ctx) {
    this.ctx = ctx;
  }

  shift(x, y, draw) {
    this.ctx.save();
    this.ctx.translate(x, y);
    draw();
    this.ctx.restore();
  }

  clip(x, y, width, height, draw) {
    this.ctx.save();
    this.ctx.beginPath();
    this.ctx.rect(x, y, width, height);
    this.ctx.clip();
    draw();
    this.ctx.restore();
  }

  rect(x, y, width, height, fill) {
    this.ctx.fillStyle = fill;
    this.ctx.fillRect(x, y, width, height);
  }

  frame(x, y, width, height, stroke, thick) {
    this.ctx.strokeStyle = stroke;
    this.ctx.lineWidth = thick;
    this.ctx.strokeRect(x, y, width, height);
  }

  // ends: x1, y1, x2, y2, ...
  segments(ends, stroke, thick) {
    const ctx = this.ctx;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = thick;
    ctx.beginPath();
    for (let k = 0; k < ends.length; k += 4) {
      ctx.moveTo(ends[k], ends[k + 1]);
      ctx.lineTo(ends[k + 2], ends[k + 3]);
    }
    ctx.stroke();
  }

  // points: [x, y], null where the line is broken
  path(points, { stroke = null, fill = null, thick = 1.5, dash = [], close = false }) {
    const ctx = this.ctx;
    ctx.beginPath();
    let open = false;
    for (const p of points) {
      if (!p) {
        open = false;
        continue;
      }
      if (open) ctx.lineTo(p[0], p[1]);
      else ctx.moveTo(p[0], p[1]);
      open = true;
    }
    if (close) ctx.closePath();
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill();
    }
    if (stroke) {
      ctx.strokeStyle = stroke;
      ctx.lineWidth = thick;
      ctx.lineJoin = "round";
      ctx.setLineDash(dash);
      ctx.stroke();
      ctx.setLineDash([]);
    }
  }

  circle(x, y, r, { fill = null, stroke = null, thick = 1.5 }) {
    const ctx = this.ctx;
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill();
    }
    if (stroke) {
      ctx.strokeStyle = stroke;
      ctx.lineWidth = thick;
      ctx.stroke();
    }
  }

  // Many dots or squares, each in a shade of a ramp; those of one shade are filled together.
  dots(x, y, size, shades, colours, square) {
    const { first, order } = sortedByShade(shades);
    for (let s = 0; s < SHADES; s++) {
      if (first[s] === first[s + 1]) continue;
      this.ctx.fillStyle = colours[s];
      const nodes = order.subarray(first[s], first[s + 1]);
      if (square || size < 1.6) this.fillSquares(nodes, x, y, size);
      else this.fillDiscs(nodes, x, y, size);
    }
  }

  fillSquares(nodes, x, y, size) {
    for (const i of nodes) this.ctx.fillRect(x[i] - size, y[i] - size, 2 * size, 2 * size);
  }

  fillDiscs(nodes, x, y, size) {
    this.ctx.beginPath();
    for (const i of nodes) {
      this.ctx.moveTo(x[i] + size, y[i]);
      this.ctx.arc(x[i], y[i], size, 0, 6.2832);
    }
    this.ctx.fill();
  }

  text(words, x, y, { fill, size = 11, align = "left", weight = 400, turn = 0 }) {
    const ctx = this.ctx;
    ctx.save();
    ctx.translate(x, y);
    ctx.rotate(turn);
    ctx.fillStyle = fill;
    ctx.font = `${weight} ${size}px ${FONT}`;
    ctx.textAlign = align;
    ctx.textBaseline = "alphabetic";
    ctx.fillText(words, 0, 0);
    ctx.restore();
  }
}

// Nodes in the order of their shades, and where each shade begins; those without a shade are left out.
function sortedByShade(shades) {
  const first = new Uint32Array(SHADES + 1);
  for (const s of shades) if (s >= 0) first[s + 1]++;
  for (let s = 0; s < SHADES; s++) first[s + 1] += first[s];
  const next = first.slice();
  const order = new Uint32Array(first[SHADES]);
  for (let i = 0; i < shades.length; i++) {
    if (shades[i] >= 0) order[next[shades[i]]++] = i;
  }
  return { first, order };
}

function xml(words) {
  const escaped = String(words).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  return escaped.replace(/[^\P{Cc}\t\n\r]/gu, ""); // XML forbids most control characters
}

const rounded = (x) => Number(x.toFixed(2));
const point = (x, y) => `${rounded(x)} ${rounded(y)}`;

function tag(name, attributes, end = ">") {
  const written = Object.entries(attributes)
    .filter(([, setting]) => setting !== null)
    .map(([key, setting]) => ` ${key}="${typeof setting === "number" ? rounded(setting) : xml(setting)}"`);
  return `<${name}${written.join("")}${end}`;
}

export class SvgSurface {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.clips = 0;
  }

  add(name, attributes) {
    this.parts.push(tag(name, attributes, "/>"));
  }

  group(attributes, draw) {
    this.parts.push(tag("g", attributes));
    draw();
    this.parts.push("</g>");
  }

  shift(x, y, draw) {
    this.group({ transform: `translate(${point(x, y)})` }, draw);
  }

  clip(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    this.parts.push(tag("clipPath", { id }), tag("rect", { x, y, width, height }, "/>"), "</clipPath>");
    this.group({ "clip-path": `url(#${id})` }, draw);
  }

  rect(x, y, width, height, fill) {
    this.add("rect", { x, y, width, height, fill });
  }

  frame(x, y, width, height, stroke, thick) {
    this.add("rect", { x, y, width, height, fill: "none", stroke, "stroke-width": thick });
  }

  segments(ends, stroke, thick) {
    let d = "";
    for (let k = 0; k < ends.length; k += 4) {
      d += `M${point(ends[k], ends[k + 1])}L${point(ends[k + 2], ends[k + 3])}`;
    }
    this.add("path", { d, fill: "none", stroke, "stroke-width": thick });
  }

  path(points, { stroke = null, fill = null, thick = 1.5, dash = [], close = false }) {
    let d = "";
    let open = false;
    for (const p of points) {
      if (p) d += `${open ? "L" : "M"}${point(p[0], p[1])}`;
      open = Boolean(p);
    }
    if (!d) return;
    this.add("path", {
      d: close ? `${d}Z` : d,
      fill: fill || "none",
      stroke: stroke || "none",
      "stroke-width": thick,
      "stroke-linejoin": "round",
      "stroke-dasharray": dash.length ? dash.join(" ") : null,
    });
  }

  circle(x, y, r, { fill = null, stroke = null, thick = 1.5 }) {
    this.add("circle", { cx: x, cy: y, r, fill: fill || "none", stroke: stroke || "none", "stroke-width": thick });
  }

  dots(x, y, size, shades, colours, square) {
    for (let i = 0; i < shades.length; i++) {
      if (shades[i] < 0) continue;
      if (square) this.rect(x[i] - size, y[i] - size, 2 * size, 2 * size, colours[shades[i]]);
      else this.circle(x[i], y[i], size, { fill: colours[shades[i]] });
    }
  }

  text(words, x, y, { fill, size = 11, align = "left", weight = 400, turn = 0 }) {
    const style = {
      x,
      y,
      transform: turn ? `rotate(${rounded((turn * 180) / Math.PI)} ${point(x, y)})` : null,
      fill,
      "font-size": size,
      "font-weight": weight,
      "text-anchor": { left: "start", center: "middle", right: "end" }[align],
    };
    this.parts.push(tag("text", style), xml(words), "</text>");
  }

  toString() {
    const { width, height } = this;
    const root = tag("svg", {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": FONT,
    });
    return `${root}${this.parts.join("")}</svg>`;
  }
}

// A canvas of the size of its element, sharp on every screen.
export function fitted(canvas, width, height) {
  const dense = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * dense));
  const h = Math.max(1, Math.round(height * dense));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dense, 0, 0, dense, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}
