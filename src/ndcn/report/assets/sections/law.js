// The law that was found: its equation, and f and g as curves.

import { band, Chart, key, spanOf } from "../chart.js";
import { palette } from "../colour.js";
import { details, make } from "../dom.js";
import { shortNumber } from "../format.js";
import { section } from "../sections.js";
import { watch } from "../state.js";

const TEXT = {
  latex: "As LaTeX",
  noFormula: "f and g are smooth functions without a closed form.",
  ofFeature: (feature) => ` of ${feature}`,
  own: (of) => `f: self-dynamics${of}`,
  coupling: (of) => `g: interaction with a neighbour${of}`,
  ofNeighbour: (feature) => `${feature} of the neighbour`,
  ownState: (feature, at) => `own ${feature} = ${at}`,
  ownColumn: (at) => `own ${at}`,
  std: "standard deviation",
};

const HEIGHT = 240;
const DASHES = [[], [7, 4], [2, 3]]; // of g at three states of the node itself
const SIGNS = ["━", "┅", "┈"];
const POWERS = ["", "", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
const SYMBOLS = [
  ["sum_j", "Σⱼ"],
  ["-", "−"],
  ["_ij", "ᵢⱼ"],
  ["_i", "ᵢ"],
  ["_j", "ⱼ"],
  ["*", "·"],
];

// x_i*x_i*x_i is a cube.
function withPowers(line) {
  return line.replace(/\b([A-Za-z]\w*)((?:\*\1\b)+)/g, (all, name, rest) => {
    const power = 1 + rest.length / (name.length + 1);
    return POWERS[power] ? name + POWERS[power] : all;
  });
}

function mathText(line) {
  return SYMBOLS.reduce((text, [plain, symbol]) => text.replaceAll(plain, symbol), withPowers(line));
}

function equationLines({ equation, latex }) {
  if (!equation) return [make("p", {}, TEXT.noFormula)];
  const lines = equation.split("\n").map((line) => make("p", { class: "equation" }, mathText(line)));
  return [...lines, details(TEXT.latex, make("pre", {}, latex))];
}

// curves: x, f, f_std; g and g_std at some states g_at of the node itself.

function ownChart(parent, curves, ofFeature) {
  const { x, f, f_std: std, feature } = curves;
  const spec = () => {
    const [colour] = palette();
    const series = [band(x, f, std, colour), { kind: "line", x, y: f, colour }];
    return { x: [x[0], x.at(-1)], y: spanOf([f]), xlabel: feature, ylabel: "f", series };
  };
  const table = () => [[feature, "f", TEXT.std], ...x.map((at, k) => [at, f[k], std[k]])];
  return new Chart(parent, { title: TEXT.own(ofFeature), height: HEIGHT, spec, table });
}

function couplingChart(parent, curves, ofFeature) {
  const { x, g, g_std: std, g_at: states, feature } = curves;
  const xlabel = TEXT.ofNeighbour(feature);
  const spec = () => {
    const colours = palette();
    const series = g.flatMap((y, k) => [
      band(x, y, std[k], colours[k]),
      { kind: "line", x, y, colour: colours[k], dash: DASHES[k] },
    ]);
    return { x: [x[0], x.at(-1)], y: spanOf(g), xlabel, ylabel: "g", series };
  };
  const table = () => {
    const headings = states.map((at) => TEXT.ownColumn(shortNumber(at)));
    return [[xlabel, ...headings], ...x.map((at, k) => [at, ...g.map((y) => y[k])])];
  };
  const legend = make("ul", { class: "legend" });
  watch(["theme"], () => {
    const keys = states.map((at, k) => key(SIGNS[k], TEXT.ownState(feature, shortNumber(at)), palette()[k]));
    legend.replaceChildren(...keys);
  });
  return new Chart(parent, { title: TEXT.coupling(ofFeature), height: HEIGHT, spec, legend, table });
}

section("law", (law, element) => {
  const pair = make("div", { class: "pair", id: "law-charts" });
  element.append(
    make("div", { id: "equation" }, ...equationLines(law)),
    make("p", { id: "reason", class: "quiet" }, law.reason),
    pair,
  );
  const charts = law.curves.flatMap((curves) => {
    const ofFeature = law.curves.length > 1 ? TEXT.ofFeature(curves.feature) : "";
    return [ownChart(pair, curves, ofFeature), couplingChart(pair, curves, ofFeature)];
  });
  watch(["theme", "size"], () => {
    for (const chart of charts) chart.draw();
  });
});
