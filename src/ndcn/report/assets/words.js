// All English text that the scripts show, by the part of the page that shows it.

const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export const WORDS = {
  // What a moment is, by its letter in CONTENT.kinds; a forecast has names of its own for some.
  kinds: {
    t: "trained on",
    i: "interpolation",
    e: "extrapolation",
    g: "given",
    f: "no data: what comes next",
    w: "training window",
  },
  forecastKinds: { t: "past", e: "forecast, with data", f: "forecast", a: "after the forecast" },

  // Which snapshots an error of a node is a mean over.
  meanOver: { held: "where held back", forecast: "where forecast", all: "over all snapshots" },

  time: {
    equals: "t = ",
    spoken: (number) => `time ${number}`,
    span: (from, to, zone) => `${from} to ${to}${zone ? `, ${zone}` : ""}`,
    axis: "time",
    dateAxis: "date",
  },

  page: {
    failed: (reason) => `This page could not be shown: ${reason}`,
    oldBrowser: "this browser cannot unpack the page; use one from 2023 or later",
    subtitle: {
      forecast: "what happened, what comes next, and how sure that is",
      compared: "what the network did, what the model says, where it is wrong, what comes next",
      alone: "what the model says; there are no data to compare with",
    },
  },

  facts: {
    error: (part) => `${part} error`,
    trainError: "error where trained on",
    bestGuess: (error, name) => `best simple guess ${error}, ${name}`,
    network: "network",
    nodes: (count) => counted(count, "node"),
    edges: (count, directed) => counted(count, directed ? "directed edge" : "edge"),
    forecast: "forecast",
    steps: (count) => counted(count, "step"),
    snapshots: "snapshots",
    moments: "moments",
    model: "model",
    members: (count) => counted(count, "member"),
    parameters: (count) => counted(count, "parameter"),
  },

  panels: {
    names: { truth: "Truth", prediction: "Prediction", error: "Error", std: "Spread" },
    label: (panel, count, feature, time) =>
      `${panel}: ${count} nodes coloured by ${feature} at ${time}. Arrow keys move from node to node.`,
    noForecast: "nothing was forecast here",
    noData: "no data at this time",
    unobserved: (count) => `${count} not observed`,
    error: "prediction − truth",
    finer: (times) => `colours ${times}× finer`,
    std: "one standard deviation",
    squareRoot: "square-root scale",
  },

  timeline: {
    play: "Play",
    pause: "Pause",
    value: (time, kind, number, count) => `${time}, ${kind}, moment ${number} of ${count}`,
    legend: (kind, count) => `${kind} (${count})`,
    window: "training window",
  },

  nodes: {
    unnamed: (node) => `node ${node}`,
    values: { truth: "Truth", prediction: "Prediction", std: "± spread", error: "Error" },
    spoken: { truth: "truth", prediction: "prediction", error: "error" },
    columns: { truth: "truth", prediction: "prediction", std: "spread", lower: "lower", upper: "upper" },
    column: (node, kind) => `${node}, ${kind}`,
    reading: (node, time, values) => `${node} at ${time}: ${values.join(", ")}`,
    tooManyPins: (most) => `${most} nodes are pinned already: unpin one first`,
    noneFound: "No node has such a name",
    foundError: (error) => `error ${error}`,
    neighbours: (count) => counted(count, "neighbour"),
    more: (count) => `and ${count} more`,
    largestErrors: "Largest errors",
    at: (feature, time) => `${feature} at ${time}`,
    interval: (level) => `${100 * level} % interval`,
    range: (low, high) => `${low} to ${high}`,
    meanError: (over, error, rank, count) => `Mean |error| ${over}: ${error}, number ${rank} of ${count}.`,
    show: (node) => `Show ${node}`,
    pin: "Pin",
    unpin: "Unpin",
    pinShort: "pin",
    pinToCompare: "Pin, to compare",
    noneChosen: "Click a node, or find one by name. Pin several to compare them.",
    chart: "the nodes chosen over time",
    legend: {
      held: "held back",
      later: "came later",
      prediction: "prediction",
      forecast: "forecast",
      band: "± 2 standard deviations",
    },
  },

  charts: {
    label: (name) => `Chart: ${name}. The same numbers are in the table below it.`,
    table: "As a table",
  },

  errors: {
    parts: { train: "trained on", interpolation: "interpolation", extrapolation: "extrapolation" },
    forecastPart: "forecast",
    overTime: "Error against time",
    mean: (feature) => `mean |error| of ${feature}`,
    overNodes: "Distribution over nodes",
    meanOfNode: (over) => `mean |error| of a node ${over}`,
    nodes: "nodes",
    bins: ["from", "to", "nodes"],
    pickBar: "Click a bar for the node whose error is nearest.",
    snapshots: (count) => ` ${count} snapshots`,
    least: " (least)",
    compared: "Beside simple guesses",
    alone: "In numbers",
    guesses:
      "The guesses see the snapshots trained on and nothing else: the last value, a straight line, a cubic spline " +
      "for each node. They pass through those snapshots, so they are judged where something was held back. " +
      "The least error is underlined.",
    forecastGuesses:
      "The guesses see what the forecast was made from and nothing else: the last value, and a straight line for " +
      "each node. The least error is underlined.",
  },

  forecast: {
    kind: (kind) => `: ${kind}`,
    all: (count) => `All ${count}`,
  },

  law: {
    latex: "As LaTeX",
    noFormula: "f and g are smooth functions without a formula.",
    ofFeature: (feature) => ` of ${feature}`,
    own: (of) => `f: what a node does by itself${of}`,
    coupling: (of) => `g: what a neighbour does${of}`,
    ofNeighbour: (feature) => `${feature} of the neighbour`,
    ownState: (feature, at) => `own ${feature} = ${at}`,
    ownColumn: (at) => `own ${at}`,
    std: "standard deviation",
  },

  training: {
    epoch: "epoch",
    loss: "loss",
    training: "training loss",
    ofMembers: (count) => `training loss of ${count} members`,
    validation: "validation loss",
    summary: (epochs, seconds, ended) => `${epochs} epochs in ${seconds} s, ${ended}`,
    ended: { early: "stopped early", finished: "finished" },
  },

  repeat: {
    copy: "copy",
    copyLabel: "Copy the command",
    copied: "copied",
    cannotCopy: "the browser does not allow copying",
    firstSnapshotsOnly:
      "The forecast was made from the first of these snapshots only: ndcn fit makes a later one of all.",
    notFromCommands:
      "How the model was fitted cannot be told from the command line alone: it is in the settings below, with the " +
      "fingerprint of its data where they are known.",
    hash: (name) => `SHA-256 of the ${name}`,
  },

  downloads: {
    heading: (title, feature, time, kind) => `${title}, ${feature} at ${time} (${kind})`,
    saved: "saved",
  },
};
