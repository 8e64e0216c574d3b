// The loss while the model was trained.

import { Chart, key } from "./chart.js";
import { palette } from "./colour.js";
import { CONTENT } from "./data.js";
import { byId, make } from "./dom.js";
import { shortNumber } from "./format.js";
import { watch } from "./state.js";
import { WORDS } from "./words.js";

// Curves of one member: epoch, loss; validation as [epoch, loss].

function lossSpec() {
  const { curves, epochs } = CONTENT.training;
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
    xlabel: WORDS.training.epoch,
    ylabel: WORDS.training.loss,
    series,
  };
}

function lossTable() {
  const { epoch, loss } = CONTENT.training.curves[0];
  return [[WORDS.training.epoch, WORDS.training.loss], ...epoch.map((e, k) => [e, loss[k]])];
}

function lossKeys() {
  const words = WORDS.training;
  const { curves, epochs, seconds, stopped } = CONTENT.training;
  const [training, held] = palette();
  const keys = [key("━", curves.length > 1 ? words.ofMembers(curves.length) : words.training, training)];
  if (curves[0].validation.length) keys.push(key("━", words.validation, held));
  const ended = words.ended[stopped] || stopped;
  return [...keys, make("li", {}, words.summary(epochs, shortNumber(seconds), ended))];
}

export function startTraining() {
  if (!CONTENT.training.epochs) return;
  byId("training").hidden = false;
  const legend = make("ul", { class: "legend" });
  const chart = new Chart(byId("training-chart"), {
    title: "",
    name: WORDS.training.training,
    height: 240,
    spec: lossSpec,
    table: lossTable,
    legend,
  });
  watch(["theme"], () => legend.replaceChildren(...lossKeys()));
  watch(["theme", "size"], () => chart.draw());
}
