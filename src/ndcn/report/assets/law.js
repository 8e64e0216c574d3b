// The law that was found: its equation, and f and g as curves.

import { band, Chart, key, spanOf } from "./chart.js";
import { palette } from "./colour.js";
import { CONTENT } from "./data.js";
import { byId, details, make } from "./dom.js";
import { shortNumber } from "./format.js";
import { watch } from "./state.js";
import { WORDS } from "./words.js";

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

function showEquation({ equation, latex, reason }) {
  const parent = byId("equation");
  if (equation) {
    const lines = equation.split("\n").map((line) => make("p", { class: "equation" }, mathText(line)));
    parent.append(...lines, details(WORDS.law.latex, make("pre", {}, latex)));
  } else parent.append(make("p", {}, WORDS.law.noFormula));
  byId("reason").textContent = reason;
}

// curves: x, f, f_std; g and g_std at some states g_at of the node itself.

function startOwn(curves, ofFeature) {
  const { x, f, f_std: std, feature } = curves;
  const spec = () => {
    const [colour] = palette();
    const series = [band(x, f, std, colour), { kind: "line", x, y: f, colour }];
    return { x: [x[0], x.at(-1)], y: spanOf([f]), xlabel: feature, ylabel: "f", series };
  };
  const table = () => [[feature, "f", WORDS.law.std], ...x.map((at, k) => [at, f[k], std[k]])];
  return new Chart(byId("law-charts"), { title: WORDS.law.own(ofFeature), height: HEIGHT, spec, table });
}

function startCoupling(curves, ofFeature) {
  const { x, g, g_std: std, g_at: states, feature } = curves;
  const xlabel = WORDS.law.ofNeighbour(feature);
  const spec = () => {
    const colours = palette();
    const series = g.flatMap((y, k) => [
      band(x, y, std[k], colours[k]),
      { kind: "line", x, y, colour: colours[k], dash: DASHES[k] },
    ]);
    return { x: [x[0], x.at(-1)], y: spanOf(g), xlabel, ylabel: "g", series };
  };
  const table = () => {
    const headings = states.map((at) => WORDS.law.ownColumn(shortNumber(at)));
    return [[xlabel, ...headings], ...x.map((at, k) => [at, ...g.map((y) => y[k])])];
  };
  const legend = make("ul", { class: "legend" });
  watch(["theme"], () => {
    const keys = states.map((at, k) => key(SIGNS[k], WORDS.law.ownState(feature, shortNumber(at)), palette()[k]));
    legend.replaceChildren(...keys);
  });
  return new Chart(byId("law-charts"), { title: WORDS.law.coupling(ofFeature), height: HEIGHT, spec, legend, table });
}

export function startLaw() {
  const { law } = CONTENT;
  if (!law) return;
  byId("law").hidden = false;
  showEquation(law);
  const charts = law.curves.flatMap((curves) => {
    const ofFeature = law.curves.length > 1 ? WORDS.law.ofFeature(curves.feature) : "";
    return [startOwn(curves, ofFeature), startCoupling(curves, ofFeature)];
  });
  watch(["theme", "size"], () => {
    for (const chart of charts) chart.draw();
  });
}
