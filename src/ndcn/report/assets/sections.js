// Everything below the network: errors, scores, the law, training, and how to repeat it.

const PART_NAMES = {
  train: "trained on",
  interpolation: "interpolation",
  extrapolation: FORECAST ? "forecast" : "extrapolation",
};
const timeCharts = [],
  otherCharts = [];

function percent(x) {
  return x === null || x === undefined ? "–" : x > 0 && x < 1e-4 ? "< 0.01 %" : `${Number((100 * x).toPrecision(3))} %`;
}

function fillFacts() {
  const facts = [],
    row = CONTENT.scores && CONTENT.scores.rows[0];
  const add = (name, value, note) =>
    facts.push(
      make("div", {}, make("dt", {}, name), make("dd", {}, value), note ? make("dd", { class: "quiet" }, note) : null),
    );
  for (const part of ["interpolation", "extrapolation", "train"]) {
    const score = row && row.parts[part];
    if (!score || (part === "train" && facts.length)) continue;
    const guesses = CONTENT.scores.rows
      .slice(1)
      .map((r) => [r.parts[part]?.normalized_l1, r.name])
      .filter(([v]) => Number.isFinite(v));
    const best = guesses.sort((a, b) => a[0] - b[0])[0];
    const shown = score.normalized_l1 === null ? shortNumber(score.l1) : percent(score.normalized_l1);
    add(
      part === "train" ? "error where trained on" : `${PART_NAMES[part]} error`,
      shown,
      best ? `best simple guess ${percent(best[0])}, ${best[1]}` : null,
    );
  }
  const g = CONTENT.graph;
  add(
    "network",
    `${g.n.toLocaleString("en")} nodes`,
    `${g.edges.toLocaleString("en")} ${g.directed ? "directed " : ""}edges`,
  );
  if (FORECAST)
    add(
      "forecast",
      FORECAST.horizon === 1 ? "1 step" : `${FORECAST.horizon} steps`,
      spanText(CONTENT.kinds.search(/[ef]/), Math.max(CONTENT.kinds.lastIndexOf("e"), CONTENT.kinds.lastIndexOf("f"))),
    );
  const data = TIMES.map((_, k) => k).filter((k) => !"fw".includes(CONTENT.kinds[k]));
  if (data.length || !FORECAST)
    add(
      data.length ? "snapshots" : "moments",
      String(data.length || FRAMES),
      spanText(0, data.length ? data[data.length - 1] : FRAMES - 1),
    );
  add(
    "model",
    CONTENT.model,
    [
      CONTENT.members > 1 ? `${CONTENT.members} members` : null,
      CONTENT.parameters ? `${CONTENT.parameters.toLocaleString("en")} parameters` : null,
    ]
      .filter(Boolean)
      .join(", ") || null,
  );
  byId("facts").replaceChildren(...facts);
  byId("subtitle").textContent = FORECAST
    ? "what happened, what comes next, and how sure that is"
    : CONTENT.states.truth
      ? "what the network did, what the model says, where it is wrong, what comes next"
      : "what the model says; there are no data to compare with";
  byId("notes").replaceChildren(...CONTENT.notes.map((words) => make("p", { class: "note" }, words)));
}

// Errors ---------------------------------------------------------------------------------------------------------

const GUESS_STYLE = { persistence: [3, [2, 3]], linear: [1, [7, 4]], spline: [2, [1, 0]] };

function errorCurves() {
  return Object.entries(CONTENT.scores.curves).map(([name, curves], k) => {
    const [colour, dash] = k === 0 ? [0, []] : GUESS_STYLE[name] || [4, []];
    return {
      name,
      kind: "line",
      x: CONTENT.score_times,
      y: curves[state.feature],
      colour: PALETTE[themeNow()][colour],
      thick: k ? 1.5 : 2.4,
      dash,
      gaps: !k,
    };
  });
}

function errorSpec() {
  const series = errorCurves(),
    positive = series.flatMap((s) => s.y.filter((v) => v > 0));
  const low = Math.min(...positive),
    high = Math.max(...positive);
  const own = series[0].y.filter((v) => v > 0).sort((a, b) => a - b),
    floor = (own[Math.floor(own.length / 10)] ?? 0) / 100; // a guess that is far better leaves the picture
  const y = positive.length ? [Math.max(low, floor) / 1.4, high * 1.4] : [0.1, 1],
    from = FORECAST ? CONTENT.trained_until : TIMES[0];
  return {
    x: [from, TIMES[FRAMES - 1]],
    y,
    log: true,
    xlabel: TIME_LABEL,
    clock: true,
    ylabel: `mean |error| of ${FEATURES[state.feature]}`,
    spans: windowSpans(from),
    cursor: TIMES[state.frame],
    series,
  };
}

function errorTable() {
  const curves = errorCurves();
  return [
    [TIME_LABEL, ...curves.map((s) => s.name)],
    ...CONTENT.score_times.map((t, k) => [
      CONTENT.score_dates ? CONTENT.score_dates[k] : t,
      ...curves.map((s) => s.y[k]),
    ]),
  ];
}

function errorBins() {
  const values = worstFirst.order.map((node) => worstFirst.errors[node]),
    high = values[0] || 1,
    count = Math.max(6, Math.min(30, Math.round(Math.sqrt(NODES) * 1.5)));
  const edges = Array.from({ length: count + 1 }, (_, k) => (k * high) / count),
    y = new Array(count).fill(0);
  for (const v of values) y[Math.min(count - 1, Math.floor((v / high) * count))]++;
  return { edges, y };
}

function binSpec() {
  const { edges, y } = errorBins();
  const marks = shownNodes()
    .filter((node) => worstFirst.rank.has(node))
    .map((node) => ({ x: worstFirst.errors[node], colour: nodeColour(node) }));
  return {
    x: [0, edges[edges.length - 1]],
    y: [0, 1.06 * Math.max(...y)],
    xlabel: `mean |error| of a node ${HELD_WORDS}`,
    ylabel: "nodes",
    marks,
    series: [{ kind: "bars", edges, y, colour: ink("bar") }],
  };
}

function binTable() {
  const { edges, y } = errorBins();
  return [["from", "to", "nodes"], ...y.map((count, k) => [edges[k], edges[k + 1], count])];
}

function fillScores() {
  const used = Object.keys(PART_NAMES).filter((part) => CONTENT.scores.rows.some((row) => row.parts[part]));
  const shown = (score) =>
    !score || score[state.measure] === null
      ? "–"
      : shortNumber(Number(((state.measure === "normalized_l1" ? 100 : 1) * score[state.measure]).toPrecision(3)));
  const least = Object.fromEntries(
    used.map((part) => [
      part,
      Math.min(...CONTENT.scores.rows.map((row) => row.parts[part]?.[state.measure] ?? Infinity)),
    ]),
  );
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, ""),
    ...used.map((part) =>
      make(
        "th",
        { scope: "col" },
        PART_NAMES[part],
        make("span", { class: "quiet" }, ` ${CONTENT.scores.rows[0].parts[part]?.snapshots ?? 0} snapshots`),
      ),
    ),
  );
  const lines = CONTENT.scores.rows.map((row, k) =>
    make(
      "tr",
      { class: k ? "" : "own" },
      make("th", { scope: "row" }, row.name),
      ...used.map((part) => {
        const best = part !== "train" && row.parts[part] && row.parts[part][state.measure] === least[part];
        return make(
          "td",
          { class: best ? "best" : "" },
          shown(row.parts[part]),
          ...(best ? [make("span", { class: "hidden" }, " (least)")] : []),
        );
      }),
    ),
  );
  byId("scores").replaceChildren(make("thead", {}, head), make("tbody", {}, ...lines));
  const guesses = CONTENT.scores.rows.length > 1;
  byId("scores-title").textContent = guesses ? "Beside simple guesses" : "In numbers";
  byId("scores-note").textContent = [
    guesses
      ? FORECAST
        ? "The guesses see what the forecast was made from and nothing else: the last value, and a straight line for each node. The least error is underlined."
        : "The guesses see the snapshots trained on and nothing else: the last value, a straight line, a cubic spline for each node. They pass through those snapshots, so they are judged where something was held back. The least error is underlined."
      : null,
    CONTENT.scores.note,
  ]
    .filter(Boolean)
    .join(" ");
}

function startErrors() {
  if (!CONTENT.scores) return;
  byId("errors").hidden = false;
  const legend = make("ul", { class: "legend" });
  const fillKeys = () =>
    legend.replaceChildren(
      ...errorCurves().map((s) => key(s.dash.length > 1 && s.dash[1] ? "┅" : "━", s.name, s.colour)),
    );
  timeCharts.push(
    new Chart(byId("error-time"), {
      title: "Error against time",
      height: 280,
      spec: errorSpec,
      table: errorTable,
      legend,
      pick: (t) => {
        setPlaying(false);
        setFrame(nearestFrame(t));
      },
    }),
  );
  watch(["theme", "feature"], fillKeys);
  if (worstFirst && worstFirst.order.length) {
    const bins = new Chart(byId("error-nodes"), {
      title: "Distribution over nodes",
      height: 280,
      spec: binSpec,
      table: binTable,
      legend: make("p", { class: "quiet hint" }, "Click a bar for the node whose error is nearest."),
      pick: (x) =>
        choose(
          worstFirst.order.reduce((a, b) =>
            Math.abs(worstFirst.errors[b] - x) < Math.abs(worstFirst.errors[a] - x) ? b : a,
          ),
        ),
    });
    watch(["feature", "selected", "pinned", "theme", "size"], () => bins.draw());
    watch(["feature"], () => bins.fill());
  }
  watch(["frame", "feature", "theme", "size"], () => timeCharts.forEach((chart) => chart.draw()));
  watch(["feature"], () => timeCharts.forEach((chart) => chart.fill()));
  byId("measure").addEventListener("change", (event) => change({ measure: event.target.value }));
  watch(["measure", "size"], fillScores);
}

// Past errors of a forecast --------------------------------------------------------------------------------------

function startForecast() {
  if (!FORECAST) return;
  byId("forecast").hidden = false;
  byId("sentence").textContent = FORECAST.sentence;
  for (const { name, kind, horizons, table } of FORECAST.features) {
    const head = ["", ...horizons.map((h) => (h === 1 ? "1 step" : `${h} steps`))],
      few = table.slice(0, FORECAST.rows);
    const more = make(
      "details",
      { class: "numbers" },
      make("summary", {}, `All ${table.length}`),
      make("div", { class: "scroll" }, tableOf([head, ...table])),
    );
    byId("past-errors").append(
      make("p", {}, make("strong", {}, name), make("span", { class: "quiet" }, `: ${kind}`)),
      make("div", { class: "scroll" }, tableOf([head, ...few])),
      ...(few.length < table.length ? [more] : []),
    );
  }
}

// The law, training -----------------------------------------------------------------------------------------------

function band(x, y, std, colour) {
  return {
    kind: "area",
    x,
    low: y.map((v, k) => v - 2 * std[k]),
    high: y.map((v, k) => v + 2 * std[k]),
    colour: `${colour}2e`,
  };
}

function startLaw() {
  const law = CONTENT.law;
  if (!law) return;
  byId("law").hidden = false;
  if (law.equation) {
    byId("equation").append(
      ...law.equation.split("\n").map((line) => make("p", { class: "equation" }, mathText(line))),
    );
    byId("equation").append(
      make("details", { class: "numbers" }, make("summary", {}, "As LaTeX"), make("pre", {}, law.latex)),
    );
  } else byId("equation").append(make("p", {}, "f and g are smooth functions without a formula."));
  byId("reason").textContent = law.reason;
  law.curves.forEach((c, a) => {
    const name = law.curves.length > 1 ? ` of ${c.feature}` : "";
    const fSpec = () => {
      const [colour] = PALETTE[themeNow()];
      return {
        x: [c.x[0], c.x[c.x.length - 1]],
        y: spanOf([c.f]),
        xlabel: c.feature,
        ylabel: "f",
        series: [band(c.x, c.f, c.f_std, colour), { kind: "line", x: c.x, y: c.f, colour }],
      };
    };
    const gSpec = () => {
      const colours = PALETTE[themeNow()];
      return {
        x: [c.x[0], c.x[c.x.length - 1]],
        y: spanOf(c.g),
        xlabel: `${c.feature} of the neighbour`,
        ylabel: "g",
        series: c.g.flatMap((y, k) => [
          band(c.x, y, c.g_std[k], colours[k]),
          { kind: "line", x: c.x, y, colour: colours[k], dash: [[], [7, 4], [2, 3]][k] },
        ]),
      };
    };
    const keys = make("ul", { class: "legend" });
    watch(["theme"], () =>
      keys.replaceChildren(
        ...c.g_at.map((at, k) =>
          key(["━", "┅", "┈"][k], `own ${c.feature} = ${shortNumber(at)}`, PALETTE[themeNow()][k]),
        ),
      ),
    );
    otherCharts.push(
      new Chart(byId("law-charts"), {
        title: `f: what a node does by itself${name}`,
        height: 240,
        spec: fSpec,
        table: () => [[c.feature, "f", "standard deviation"], ...c.x.map((x, k) => [x, c.f[k], c.f_std[k]])],
      }),
      new Chart(byId("law-charts"), {
        title: `g: what a neighbour does${name}`,
        height: 240,
        spec: gSpec,
        legend: keys,
        table: () => [
          [`${c.feature} of the neighbour`, ...c.g_at.map((at) => `own ${shortNumber(at)}`)],
          ...c.x.map((x, k) => [x, ...c.g.map((y) => y[k])]),
        ],
      }),
    );
  });
}

const POWERS = ["", "", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

function mathText(line) {
  // x_i*x_i*x_i is a cube
  const short = line.replace(
    /\b([A-Za-z]\w*)((?:\*\1\b)+)/g,
    (all, name, rest) => name + (POWERS[1 + rest.length / (name.length + 1)] || all.slice(name.length)),
  );
  return short
    .replaceAll("sum_j", "Σⱼ")
    .replaceAll("-", "−")
    .replaceAll("_ij", "ᵢⱼ")
    .replaceAll("_i", "ᵢ")
    .replaceAll("_j", "ⱼ")
    .replaceAll("*", "·");
}

function startTraining() {
  const { curves, epochs, seconds, stopped } = CONTENT.training;
  if (!epochs) return;
  byId("training").hidden = false;
  const spec = () => {
    const all = curves.flatMap((c) => [...c.loss, ...c.validation.map((v) => v[1])]).filter((v) => v > 0),
      colours = PALETTE[themeNow()];
    return {
      x: [1, Math.max(2, epochs)],
      y: [Math.min(...all) / 1.2, Math.max(...all) * 1.2],
      log: true,
      xlabel: "epoch",
      ylabel: "loss",
      series: curves.flatMap((c) => [
        { kind: "line", x: c.epoch, y: c.loss, colour: colours[0], thick: 1.4 },
        {
          kind: "line",
          x: c.validation.map((v) => v[0]),
          y: c.validation.map((v) => v[1]),
          colour: colours[1],
          thick: 2,
        },
      ]),
    };
  };
  const legend = make("ul", { class: "legend" });
  watch(["theme"], () =>
    legend.replaceChildren(
      key(
        "━",
        curves.length > 1 ? `training loss of ${curves.length} members` : "training loss",
        PALETTE[themeNow()][0],
      ),
      ...(curves[0].validation.length ? [key("━", "validation loss", PALETTE[themeNow()][1])] : []),
      make(
        "li",
        {},
        `${epochs} epochs in ${shortNumber(seconds)} s, ${{ early: "stopped early", finished: "finished" }[stopped] || stopped}`,
      ),
    ),
  );
  otherCharts.push(
    new Chart(byId("training-chart"), {
      title: "",
      name: "training loss",
      height: 240,
      spec,
      legend,
      table: () => [["epoch", "loss"], ...curves[0].epoch.map((e, k) => [e, curves[0].loss[k]])],
    }),
  );
}

// Repeat ---------------------------------------------------------------------------------------------------------

function startRepeat() {
  const { commands, settings, versions, fingerprints, note } = CONTENT.repeat;
  for (const command of commands) {
    const copy = make("button", { type: "button", class: "small", "aria-label": "Copy the command" }, "copy");
    copy.addEventListener("click", () =>
      navigator.clipboard.writeText(command).then(
        () => {
          copy.textContent = "copied";
          say("copied");
          setTimeout(() => {
            copy.textContent = "copy";
          }, 1500);
        },
        () => {
          say("the browser does not allow copying");
        },
      ),
    );
    byId("commands").append(make("div", { class: "command" }, make("code", {}, command), copy));
  }
  if (note) byId("commands").append(make("p", { class: "quiet" }, note));
  if (commands.length < 2)
    byId("commands").append(
      make(
        "p",
        { class: "quiet" },
        FORECAST && HELD.length
          ? "The forecast was made from the first of these snapshots only: ndcn fit makes a later one of all."
          : "How the model was fitted cannot be told from the command line alone: it is in the settings below, with the fingerprint of its data where they are known.",
      ),
    );
  const line = (name, text, strong) =>
    make("tr", { class: strong ? "changed" : "" }, make("th", { scope: "row" }, name), make("td", {}, text));
  const chosen = ([name, s]) => !s.default || ["model", "preset", "seed"].includes(name);
  byId("settings").replaceChildren(
    make(
      "tbody",
      {},
      ...Object.entries(settings)
        .filter(chosen)
        .map(([name, s]) => line(name, s.value, true)),
    ),
  );
  byId("all-settings").replaceChildren(
    make("tbody", {}, ...Object.entries(settings).map(([name, s]) => line(name, s.value, !s.default))),
  );
  byId("versions").replaceChildren(
    make(
      "tbody",
      {},
      ...Object.entries(versions).map(([name, v]) => line(name, v)),
      ...Object.entries(fingerprints).map(([name, v]) => line(`SHA-256 of the ${name}`, v)),
    ),
  );
}

function startSections() {
  fillFacts();
  startErrors();
  startForecast();
  startLaw();
  startTraining();
  startRepeat();
  watch(["theme", "size"], () => otherCharts.forEach((chart) => chart.draw()));
}
