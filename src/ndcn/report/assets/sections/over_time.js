// The accuracy if the trained weights were read out after another time.

import { Chart, key } from "../chart.js";
import { ink, palette } from "../colour.js";
import { make } from "../dom.js";
import { roundedNumber } from "../format.js";
import { section } from "../sections.js";
import { watch } from "../state.js";

const TEXT = {
  note: (time) =>
    `The same weights, read out after another time of diffusion; they were trained for T = ${time}. ` +
    "At T = 0 a node has its own features only.",
  time: "T",
  accuracy: "accuracy",
  names: { judged: "held out", validation: "validation", train: "training" },
};

const STYLES = {
  judged: { thick: 2.4, dash: [] },
  validation: { thick: 1.6, dash: [6, 4] },
  train: { thick: 1.4, dash: [2, 3] },
};

function lines({ times, accuracy }) {
  return Object.entries(accuracy).map(([name, y], k) => {
    return { kind: "line", name, x: times, y, colour: palette()[k], ...STYLES[name] };
  });
}

function spec(part) {
  const series = lines(part);
  const least = Math.min(...series.flatMap(({ y }) => y));
  return {
    x: [0, part.times.at(-1)],
    y: [Math.max(0, least - 0.05), 1],
    xlabel: TEXT.time,
    ylabel: TEXT.accuracy,
    marks: [{ x: part.T, colour: ink("quiet") }],
    series,
  };
}

function table(part) {
  const series = lines(part);
  const rows = part.times.map((time, k) => [time, ...series.map(({ y }) => y[k])]);
  return [[TEXT.time, ...series.map(({ name }) => TEXT.names[name])], ...rows];
}

section("over_time", (part, element) => {
  const parent = make("div", { id: "over-time-chart" });
  const legend = make("ul", { class: "legend" });
  element.append(make("p", { class: "quiet" }, TEXT.note(roundedNumber(part.T, 3))), parent);
  const options = { title: "", name: TEXT.accuracy, height: 260, legend };
  const chart = new Chart(parent, { ...options, spec: () => spec(part), table: () => table(part) });
  watch(["theme"], () => {
    const keys = lines(part).map(({ name, colour, dash }) => key(dash[1] ? "┅" : "━", TEXT.names[name], colour));
    legend.replaceChildren(...keys);
  });
  watch(["theme", "size"], () => chart.draw());
});
