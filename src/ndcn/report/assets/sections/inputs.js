// What acted on the network from outside, under the slider's time.

import { Chart } from "../chart.js";
import { ink, palette } from "../colour.js";
import { make } from "../dom.js";
import { TIME_LABEL } from "../format.js";
import { section } from "../sections.js";
import { watch } from "../state.js";
import { goTo, timeAxis } from "../timeline.js";

const TEXT = {
  mean: (name) => `${name}, mean over nodes`,
  columns: ["least", "mean", "largest"],
  unused: (names) => `The model does not use ${names.join(", ")}.`,
  more: (count) => `${count} more are not drawn.`,
};

function range(curve) {
  const values = [...curve.y, ...(curve.low ?? []), ...(curve.high ?? [])];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
  return [low - room, high + room];
}

function curveSpec(curve) {
  const [colour] = palette();
  const line = { kind: "line", x: curve.x, dash: [], gaps: false };
  const ends = curve.low ? [curve.low, curve.high] : [];
  return {
    ...timeAxis(),
    y: range(curve),
    ylabel: curve.low ? TEXT.mean(curve.name) : curve.name,
    series: [
      ...ends.map((y) => ({ ...line, y, colour: ink("quiet"), thick: 1 })),
      { ...line, y: curve.y, colour, thick: 2 },
    ],
  };
}

function curveTable(curve) {
  const heads = curve.low ? TEXT.columns : [curve.name];
  const lines = curve.x.map((time, k) =>
    curve.low ? [time, curve.low[k], curve.y[k], curve.high[k]] : [time, curve.y[k]],
  );
  return [[TIME_LABEL, ...heads], ...lines];
}

section("inputs", ({ curves, used, left_out: leftOut }, element) => {
  for (const curve of curves) {
    const parent = make("div", {});
    element.append(parent);
    const chart = new Chart(parent, {
      title: curve.name,
      height: 160,
      spec: () => curveSpec(curve),
      table: () => curveTable(curve),
      pick: (x) => goTo(x),
    });
    watch(["theme", "size", "frame"], () => chart.draw());
  }
  const idle = curves.map(({ name }) => name).filter((name) => !used.includes(name));
  if (idle.length) element.append(make("p", { class: "note" }, TEXT.unused(idle)));
  if (leftOut) element.append(make("p", { class: "note" }, TEXT.more(leftOut)));
});
