// Numbers of the law that vary among nodes: on the network, and against degree and attributes.

import { Chart, key, spanOf } from "../chart.js";
import { ink, palette, plainColouring } from "../colour.js";
import { NODES, nodeName } from "../data.js";
import { make } from "../dom.js";
import { drawBackground, drawRamp, geometry } from "../network.js";
import { section } from "../sections.js";
import { choose, nodeColour, shownNodes, watch } from "../state.js";

const TEXT = {
  about: "Each node has its own value of these numbers of the law. Bars are two standard errors to each side.",
  onNetwork: (label) => `${label} on the network`,
  against: (label) => `${label} against an attribute`,
  choose: "Attribute ",
  follows: (label, names) => `${label} follows ${names.join(" and ")}.`,
  error: "standard error",
  group: "group",
  node: "node",
  values: "value of a node",
  pick: "Click to select the nearest node.",
};

const HEIGHT = 300;
const SCALE = 34; // pixels below the network

function paintNetwork(surface, width, height, values) {
  const g = geometry(width, height - SCALE);
  const [low, high] = spanOf([values]);
  const colours = plainColouring(low, high, 1);
  const shades = Int16Array.from(values, (v) => (v === null ? -1 : colours.shade(v)));
  surface.clip(0, 0, width, height - SCALE, () => {
    drawBackground(surface, g);
    surface.dots(g.x, g.y, g.r, shades, colours.ramp, g.square);
    for (const node of shownNodes()) {
      surface.circle(g.x[node], g.y[node], g.r + 2.5, { stroke: nodeColour(node), thick: 2.5 });
    }
  });
  surface.shift(0, height - SCALE + 4, () => drawRamp(surface, colours, width));
}

function linesOf({ label, values, errors }, attributes, groups) {
  const heads = [label, TEXT.error, ...attributes.map(({ name }) => name), ...(groups ? [TEXT.group] : [])];
  const lines = values.map((value, i) => {
    const known = attributes.map(({ x }) => x[i]);
    return [nodeName(i), value, errors[i], ...known, ...(groups ? [groups[i]] : [])];
  });
  return [[TEXT.node, ...heads], ...lines];
}

function networkChart(parent, number, attributes, groups) {
  return new Chart(parent, {
    title: TEXT.onNetwork(number.label),
    height: HEIGHT,
    spec: () => ({ paint: (surface, width, height) => paintNetwork(surface, width, height, number.values) }),
    table: () => linesOf(number, attributes, groups),
  });
}

// Error bars, then dots, then the nodes looked at.
function scatterSpec({ label, values, errors }, { name, x }) {
  const [colour] = palette();
  const both = values.map((v, i) => (v === null ? [null, null] : [v - 2 * errors[i], v + 2 * errors[i]]));
  const bars = both.flatMap((ends) => [...ends, null]);
  const places = x.flatMap((at) => [at, at, at]);
  const shown = (at, v) => (at === null ? null : v);
  const marked = shownNodes().map((node) => ({
    kind: "dots",
    x: [x[node]],
    y: [shown(x[node], values[node])],
    colour: nodeColour(node),
    hollow: [],
  }));
  return {
    x: spanOf([x]),
    y: spanOf([both.flat()]),
    xlabel: name,
    ylabel: label,
    series: [
      { kind: "line", x: places, y: bars.map((v, k) => shown(places[k], v)), colour: ink("quiet"), thick: 0.8 },
      { kind: "dots", x, y: values.map((v, i) => shown(x[i], v)), colour },
      ...marked,
    ],
  };
}

function nearest(x, at) {
  const distance = (i) => (x[i] === null ? Infinity : Math.abs(x[i] - at));
  let best = 0;
  for (let i = 1; i < NODES; i++) if (distance(i) < distance(best)) best = i;
  return best;
}

function scatterChart(parent, number, attributes) {
  let chosen = attributes.find(({ name }) => number.follows.includes(name)) ?? attributes[0];
  const chart = new Chart(parent, {
    title: TEXT.against(number.label),
    height: HEIGHT,
    spec: () => scatterSpec(number, chosen),
    table: () => [
      [TEXT.node, chosen.name, number.label, TEXT.error],
      ...number.values.map((v, i) => [nodeName(i), chosen.x[i], v, number.errors[i]]),
    ],
    legend: make("ul", { class: "legend" }, key("●", TEXT.values), key("", TEXT.pick)),
    pick: (at) => choose(nearest(chosen.x, at)),
  });
  const options = attributes.map(({ name }) => make("option", { value: name, selected: name === chosen.name }, name));
  const onchange = (event) => {
    chosen = attributes.find(({ name }) => name === event.target.value);
    chart.draw();
    chart.fill();
  };
  parent.append(make("label", { class: "pick" }, TEXT.choose, make("select", { onchange }, ...options)));
  return chart;
}

section("node_values", ({ numbers: given, attributes, groups }, element) => {
  const numbers = given.map((number) => ({ ...number, label: number.label.replace(/_i$/, "ᵢ") }));
  element.append(make("p", { class: "quiet" }, TEXT.about));
  const charts = numbers.flatMap((number) => {
    const pair = make("div", { class: "pair" });
    const [left, right] = [make("div", {}), make("div", {})];
    pair.append(left, right);
    element.append(pair);
    if (number.follows.length) element.append(make("p", {}, TEXT.follows(number.label, number.follows)));
    return [networkChart(left, number, attributes, groups), scatterChart(right, number, attributes)];
  });
  watch(["theme", "size", "selected", "pinned", "layout", "zoom"], () => {
    for (const chart of charts) chart.draw();
  });
});
