// Accuracy over confidence, and how many nodes have which.

import { Chart, key } from "../chart.js";
import { ink, palette } from "../colour.js";
import { make } from "../dom.js";
import { percent, roundedNumber } from "../format.js";
import { section } from "../sections.js";
import { watch } from "../state.js";

const TEXT = {
  note: (ece, how) => `Expected calibration error ${ece} on the nodes held out; ${how}.`,
  asTrained: "probabilities as trained, for there were no validation nodes",
  calibrated: (temperature) => `probabilities calibrated on the validation nodes, temperature ${temperature}`,
  accuracy: "accuracy",
  confidence: "confidence",
  nodes: "nodes",
  diagram: "Accuracy over confidence",
  histogram: "Nodes over confidence",
  ideal: "confidence = accuracy",
  bins: ["confidence from", "to", "nodes", "mean confidence", "accuracy"],
};

function diagramSpec({ edges, confidence, accuracy }) {
  return {
    x: [0, 1],
    y: [0, 1],
    xlabel: TEXT.confidence,
    ylabel: TEXT.accuracy,
    series: [
      { kind: "bars", edges, y: accuracy.map((v) => v ?? 0), colour: ink("bar") },
      { kind: "line", x: [0, 1], y: [0, 1], colour: ink("quiet"), thick: 1.2, dash: [5, 4] },
      { kind: "dots", x: confidence.map((v) => v ?? 0), y: accuracy, colour: palette()[1] },
    ],
  };
}

function histogramSpec({ edges, counts }) {
  return {
    x: [0, 1],
    y: [0, 1.06 * Math.max(1, ...counts)],
    xlabel: TEXT.confidence,
    ylabel: TEXT.nodes,
    series: [{ kind: "bars", edges, y: counts, colour: ink("bar") }],
  };
}

function table({ edges, counts, confidence, accuracy }) {
  return [TEXT.bins, ...counts.map((count, k) => [edges[k], edges[k + 1], count, confidence[k], accuracy[k]])];
}

section("reliability", (part, element) => {
  const { ece, temperature } = part;
  const how = temperature === null ? TEXT.asTrained : TEXT.calibrated(roundedNumber(temperature, 3));
  const left = make("div", { id: "reliability-diagram" });
  const right = make("div", { id: "reliability-histogram" });
  const legend = make("ul", { class: "legend" });
  const note = make("p", { class: "quiet" }, TEXT.note(percent(ece), how));
  element.append(note, make("div", { class: "pair" }, left, right));
  const shared = { height: 280, table: () => table(part) };
  const charts = [
    new Chart(left, { ...shared, title: TEXT.diagram, spec: () => diagramSpec(part), legend }),
    new Chart(right, { ...shared, title: TEXT.histogram, spec: () => histogramSpec(part) }),
  ];
  watch(["theme"], () => {
    legend.replaceChildren(key("■", TEXT.accuracy, ink("bar")), key("┅", TEXT.ideal, ink("quiet")));
  });
  watch(["theme", "size"], () => {
    for (const chart of charts) chart.draw();
  });
});
