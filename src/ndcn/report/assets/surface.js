// Two surfaces with the same few strokes: a canvas, and an SVG picture for download.

class CanvasSurface {
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

  segments(ends, stroke, thick) {
    // ends: x1, y1, x2, y2, ...
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

  path(points, { stroke = null, fill = null, thick = 1.5, dash = [], close = false }) {
    // [x, y], null where it is broken
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
    const ctx = this.ctx,
      count = new Uint32Array(SHADES + 1);
    for (let i = 0; i < shades.length; i++) if (shades[i] >= 0) count[shades[i] + 1]++;
    for (let s = 0; s < SHADES; s++) count[s + 1] += count[s];
    const next = count.slice(),
      order = new Uint32Array(count[SHADES]);
    for (let i = 0; i < shades.length; i++) if (shades[i] >= 0) order[next[shades[i]]++] = i;
    for (let s = 0; s < SHADES; s++) {
      if (count[s] === count[s + 1]) continue;
      ctx.fillStyle = colours[s];
      if (square || size < 1.6) {
        for (let k = count[s]; k < count[s + 1]; k++)
          ctx.fillRect(x[order[k]] - size, y[order[k]] - size, 2 * size, 2 * size);
        continue;
      }
      ctx.beginPath();
      for (let k = count[s]; k < count[s + 1]; k++) {
        const i = order[k];
        ctx.moveTo(x[i] + size, y[i]);
        ctx.arc(x[i], y[i], size, 0, 6.2832);
      }
      ctx.fill();
    }
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

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

function xml(words) {
  return String(words)
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
}

class SvgSurface {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.clips = 0;
  }

  n(x) {
    return Number(x.toFixed(2));
  }

  shift(x, y, draw) {
    this.parts.push(`<g transform="translate(${this.n(x)} ${this.n(y)})">`);
    draw();
    this.parts.push("</g>");
  }

  clip(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(width)}" height="${this.n(height)}"/></clipPath><g clip-path="url(#${id})">`,
    );
    draw();
    this.parts.push("</g>");
  }

  rect(x, y, width, height, fill) {
    this.parts.push(
      `<rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(width)}" height="${this.n(height)}" fill="${xml(fill)}"/>`,
    );
  }

  frame(x, y, width, height, stroke, thick) {
    this.parts.push(
      `<rect x="${this.n(x)}" y="${this.n(y)}" width="${this.n(width)}" height="${this.n(height)}" fill="none" stroke="${xml(stroke)}" stroke-width="${thick}"/>`,
    );
  }

  segments(ends, stroke, thick) {
    let d = "";
    for (let k = 0; k < ends.length; k += 4)
      d += `M${this.n(ends[k])} ${this.n(ends[k + 1])}L${this.n(ends[k + 2])} ${this.n(ends[k + 3])}`;
    this.parts.push(`<path d="${d}" fill="none" stroke="${xml(stroke)}" stroke-width="${thick}"/>`);
  }

  path(points, { stroke = null, fill = null, thick = 1.5, dash = [], close = false }) {
    let d = "",
      open = false;
    for (const p of points) {
      if (!p) {
        open = false;
        continue;
      }
      d += `${open ? "L" : "M"}${this.n(p[0])} ${this.n(p[1])}`;
      open = true;
    }
    if (d)
      this.parts.push(
        `<path d="${d}${close ? "Z" : ""}" fill="${xml(fill || "none")}" stroke="${xml(stroke || "none")}" stroke-width="${thick}" stroke-linejoin="round"${dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`,
      );
  }

  circle(x, y, r, { fill = null, stroke = null, thick = 1.5 }) {
    this.parts.push(
      `<circle cx="${this.n(x)}" cy="${this.n(y)}" r="${this.n(r)}" fill="${xml(fill || "none")}" stroke="${xml(stroke || "none")}" stroke-width="${thick}"/>`,
    );
  }

  dots(x, y, size, shades, colours, square) {
    for (let i = 0; i < shades.length; i++) {
      if (shades[i] < 0) continue;
      if (square) this.rect(x[i] - size, y[i] - size, 2 * size, 2 * size, colours[shades[i]]);
      else this.circle(x[i], y[i], size, { fill: colours[shades[i]] });
    }
  }

  text(words, x, y, { fill, size = 11, align = "left", weight = 400, turn = 0 }) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const rotate = turn ? ` transform="rotate(${this.n((turn * 180) / Math.PI)} ${this.n(x)} ${this.n(y)})"` : "";
    this.parts.push(
      `<text x="${this.n(x)}" y="${this.n(y)}"${rotate} fill="${xml(fill)}" font-size="${size}" font-weight="${weight}" text-anchor="${anchor}">${xml(words)}</text>`,
    );
  }

  toString() {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${xml(FONT)}">${this.parts.join("")}</svg>`;
  }
}

// A canvas of the size of its element, sharp on every screen.
function fitted(canvas, width, height) {
  const dense = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * dense)),
    h = Math.max(1, Math.round(height * dense));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dense, 0, 0, dense, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const byId = (id) => document.getElementById(id);
