// The loss while the model was trained.

import { Chart, key } from "../chart.js";
import { palette } from "../colour.js";
import { make } from "../dom.js";
import { shortNumber } from "../format.js";
import { section } from "../sections.js";
import { watch } from "../state.js";

const TEXT = {
  epoch: "epoch",
  loss: "loss",
  training: "training loss",
  ofMembers: (count) => `training loss of ${count} members`,
  validation: "validation loss",
  summary: (epochs, seconds, ended) => `${epochs} epochs in ${seconds} s, ${ended}`,
  ended: { early: "stopped early", finished: "finished" },
};

// Curves of one member: epoch, loss; validation as [epoch, loss].

function lossSpec({ curves, epochs }) {
  const losses = curves.flatMap(({ loss, validation }) => [...loss, ...validation.map(([, v]) => v)]);
  const positive = losses.filter((v) => v > 0);
  const [training, held] = palette();
  const series = curves.flatMap(({ epoch, loss, validation }) => {
    const [x, y] = [validation.map(([e]) => e), validation.map(([, v]) => v)];
    return [
      { kind: "line", x: epoch, y: loss, colour: training, thick: 1.4 },
      { kind: "line", x, y, colour: held, thick: 2 },
    ];
  });
  return {
    x: [1, Math.max(2, epochs)],
    y: [Math.min(...positive) / 1.2, Math.max(...positive) * 1.2],
    log: true,
    xlabel: TEXT.epoch,
    ylabel: TEXT.loss,
    series,
  };
}

function lossTable({ curves }) {
  const { epoch, loss } = curves[0];
  return [[TEXT.epoch, TEXT.loss], ...epoch.map((e, k) => [e, loss[k]])];
}

function lossKeys({ curves, epochs, seconds, stopped }) {
  const [training, held] = palette();
  const keys = [key("━", curves.length > 1 ? TEXT.ofMembers(curves.length) : TEXT.training, training)];
  if (curves[0].validation.length) keys.push(key("━", TEXT.validation, held));
  const ended = TEXT.ended[stopped] || stopped;
  return [...keys, make("li", {}, TEXT.summary(epochs, shortNumber(seconds), ended))];
}

section("training", (training, element) => {
  element.hidden = !training.epochs;
  if (element.hidden) return;
  const legend = make("ul", { class: "legend" });
  const parent = make("div", { id: "training-chart" });
  element.append(parent);
  const chart = new Chart(parent, {
    title: "",
    name: TEXT.training,
    height: 240,
    spec: () => lossSpec(training),
    table: () => lossTable(training),
    legend,
  });
  watch(["theme"], () => legend.replaceChildren(...lossKeys(training)));
  watch(["theme", "size"], () => chart.draw());
});
