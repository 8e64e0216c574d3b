// All English text that these scripts show, by the part of the page that shows it; a section has its own.

export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export const WORDS = {
  // What a moment is, by its letter in CONTENT.kinds; a forecast has names of its own for some.
  kinds: {
    t: "trained on",
    i: "interpolation",
    e: "extrapolation",
    g: "initial state",
    f: "no data, prediction only",
    w: "training window",
  },
  forecastKinds: { t: "past", e: "forecast, with data", f: "forecast", a: "after the forecast" },

  // Parts of the data, by their names in CONTENT.scores.
  parts: { train: "trained on", interpolation: "interpolation", extrapolation: "extrapolation" },
  forecastPart: "forecast",

  // Which snapshots an error of a node is a mean over.
  meanOver: { held: "over held-out snapshots", forecast: "over the forecast", all: "over all snapshots" },

  time: {
    equals: "t = ",
    spoken: (number) => `time ${number}`,
    span: (from, to, zone) => `${from} to ${to}${zone ? `, ${zone}` : ""}`,
    axis: "time",
    dateAxis: "date",
  },

  page: {
    failed: (reason) => `The page cannot be shown: ${reason}`,
    oldBrowser: "this browser cannot decompress the data. Use a browser from 2023 or later.",
    subtitle: {
      forecast: "observed states, forecast and its uncertainty",
      forecastAlone: "forecast and its uncertainty; a page made with the data shows them too",
      compared: "observed states, prediction and error over time",
      alone: "prediction over time; no data to compare with",
    },
  },

  facts: {
    error: (part) => `${part} error`,
    trainError: "training error",
    bestBaseline: (error, name) => `best baseline ${error}, ${name}`,
    network: "network",
    nodes: (count) => counted(count, "node"),
    edges: (count, directed) => counted(count, directed ? "directed edge" : "edge"),
    forecast: "forecast",
    steps: (count) => counted(count, "step"),
    snapshots: "snapshots",
    moments: "time points",
    model: "model",
    members: (count) => counted(count, "member"),
    parameters: (count) => counted(count, "parameter"),
  },

  panels: {
    names: {
      truth: "Truth",
      prediction: "Prediction",
      error: "Error",
      std: "Standard deviation",
      label: "Label",
      predicted: "Predicted class",
      confidence: "Confidence",
    },
    label: (panel, count, feature, time) =>
      `${panel}: ${count} nodes coloured by ${feature} at ${time}. Arrow keys move from node to node.`,
    map: "Map",
    noForecast: "no forecast at this time",
    noData: "no data at this time",
    unobserved: (count) => `${count} not observed`,
    lastObserved: (time) => `Last observed, ${time}`,
    error: "prediction − truth",
    finer: (times) => `colour scale ${times}× finer`,
    std: "of the prediction",
    squareRoot: "square-root scale",
  },

  timeline: {
    play: "Play",
    pause: "Pause",
    value: (time, kind, number, count) => `${time}, ${kind}, time point ${number} of ${count}`,
    legend: (kind, count) => `${kind} (${count})`,
    window: "training window",
  },

  nodes: {
    unnamed: (node) => `node ${node}`,
    values: { truth: "Truth", prediction: "Prediction", std: "Standard deviation", error: "Error" },
    spoken: { truth: "truth", prediction: "prediction", error: "error" },
    columns: { truth: "truth", prediction: "prediction", std: "standard deviation", lower: "lower", upper: "upper" },
    column: (node, kind) => `${node}, ${kind}`,
    reading: (node, time, values) => `${node} at ${time}: ${values.join(", ")}`,
    tooManyPins: (most) => `${most} nodes are pinned. Unpin one first.`,
    noneFound: "No node has this name",
    foundError: (error) => `error ${error}`,
    neighbours: (count) => counted(count, "neighbour"),
    more: (count) => `and ${count} more`,
    largestErrors: "Largest errors",
    at: (feature, time) => `${feature} at ${time}`,
    interval: (level) => `${100 * level} % interval`,
    range: (low, high) => `${low} to ${high}`,
    meanError: (over, error, rank, count) => `Mean |error| ${over}: ${error}. Rank ${rank} of ${count}.`,
    show: (node) => `Show ${node}`,
    pin: "Pin",
    unpin: "Unpin",
    pinShort: "pin",
    pinToCompare: "Pin to compare",
    noneChosen: "Click a node or find one by name. Pin several to compare them.",
    chart: "selected nodes over time",
    legend: {
      held: "held out",
      later: "observed later",
      prediction: "prediction",
      forecast: "forecast",
      band: "± 2 standard deviations",
    },
  },

  // The page of a classifier.
  classes: {
    subtitle: "labels, predicted classes, how sure they are, and where they came from",
    accuracy: "accuracy",
    onNodes: (count) => (count ? `on ${counted(count, "node")} held out` : "no node was held out"),
    ece: "calibration error",
    asTrained: "probabilities as trained",
    calibrated: (temperature) => `calibrated, temperature ${temperature}`,
    classCount: "classes",
    trainedOn: (count) => `learned from ${counted(count, "label")}`,
    time: "time of diffusion T",
    paler: "paler: less certain; grey: label not known",
    unknown: "not known",
    missing: (count) => `${counted(count, "node")} without a label`,
    captions: { label: "", predicted: "paler: less certain", confidence: "probability of the predicted class" },
    panel: (panel, count) => `${panel} of ${count} nodes. Arrow keys move from node to node.`,
    percent: (p) => `${(100 * p).toFixed(1)} %`,
    signed: (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`,
    reading: (node, predicted, label) => `${node}: predicted ${predicted}; label ${label}`,
    probabilities: "Probabilities",
    labelled: (label, verdict) => `Label: ${label} (${verdict}).`,
    right: "predicted right",
    wrong: "predicted wrong",
    unlabelled: "Label not known.",
    splits: { "": "", train: "Trained on.", validation: "Validation node.", test: "Test node." },
    whyTitle: "Where this class came from",
    why: (first, second) =>
      `The log-odds of ${first} against ${second} are a sum over all nodes. ` +
      `These count most; a minus speaks for ${second}.`,
    whyColumns: ["node", "label", "split", "contribution"],
    rest: "all other nodes",
    bias: "bias",
    sum: "log-odds",
    elsewhere: "Where its class came from, with the share of every node:",
    notExplained: "The field is not linear: where its class came from is no sum over nodes.",
    command: (model, node) => `ndcn explain ${model} ${node}`,
    noneChosen: "Click a node or find one by name to see where its class came from.",
  },

  charts: {
    label: (name) => `Chart: ${name}. The table below has the same numbers.`,
    table: "As a table",
  },

  downloads: {
    heading: (title, feature, time, kind) => `${title}, ${feature} at ${time} (${kind})`,
    saved: "saved",
  },
};
