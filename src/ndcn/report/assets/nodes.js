// Single nodes: found by name, chosen, pinned, compared; their curves and neighbours.

let nodeChart = null,
  foundNodes = [],
  foundAt = -1;
let worstFirst = null; // nodes by mean |error| of the feature shown, the largest first

function rankNodes() {
  worstFirst = null;
  if (!STATES.error) return;
  const errors = nodeErrors(state.feature);
  const order = Array.from({ length: NODES }, (_, i) => i)
    .filter((i) => errors[i] === errors[i])
    .sort((a, b) => errors[b] - errors[a]);
  worstFirst = { errors, order, rank: new Map(order.map((node, k) => [node, k + 1])) };
}

// Search ---------------------------------------------------------------------------------------------------------

function folded(words) {
  // Köln is found as koln, and as köln however its letters are put together
  return words.trim().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}

function matches(words) {
  const wanted = folded(words);
  if (!wanted) return worstFirst ? worstFirst.order.slice(0, 8) : [];
  const number = wanted.replace(/^node\s+/, ""),
    found = [[], [], []];
  for (let i = 0; i < NODES; i++) {
    const name = folded(GRAPH.names ? GRAPH.names[i] : String(i));
    const level =
      name === wanted || (!GRAPH.names && name === number)
        ? 0
        : name.startsWith(GRAPH.names ? wanted : number)
          ? 1
          : name.includes(GRAPH.names ? wanted : number)
            ? 2
            : 3;
    if (level < 3 && found[level].length < 8) found[level].push(i);
  }
  return found.flat().slice(0, 8);
}

function showFound(open) {
  const list = byId("found"),
    input = byId("search");
  foundNodes = open ? matches(input.value) : [];
  const empty = open && input.value.trim() && !foundNodes.length;
  list.hidden = !foundNodes.length && !empty;
  input.setAttribute("aria-expanded", String(!list.hidden));
  list.replaceChildren(
    ...foundNodes.map((node, k) =>
      make(
        "li",
        {
          role: "option",
          id: `found-${k}`,
          "aria-selected": String(k === foundAt),
          onpointerdown: (event) => {
            event.preventDefault();
            take(node);
          },
        },
        make("span", {}, nodeName(node)),
        make(
          "span",
          { class: "quiet" },
          worstFirst?.rank.has(node)
            ? `error ${shortNumber(worstFirst.errors[node])}`
            : `${GRAPH.neighbours(node).length} neighbours`,
        ),
      ),
    ),
  );
  if (empty)
    list.append(
      make(
        "li",
        { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" },
        "No node has such a name",
      ),
    );
  if (foundAt >= 0) input.setAttribute("aria-activedescendant", `found-${foundAt}`);
  else input.removeAttribute("aria-activedescendant");
}

function take(node) {
  choose(node);
  byId("search").value = nodeName(node);
  foundAt = -1;
  showFound(false);
}

function startSearch() {
  const input = byId("search");
  input.addEventListener("focus", () => {
    input.select();
    foundAt = -1;
    showFound(true);
  });
  input.addEventListener("blur", () => showFound(false));
  input.addEventListener("input", () => {
    foundAt = foundNodes.length || input.value ? 0 : -1;
    showFound(true);
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (byId("found").hidden) showFound(true);
      const count = foundNodes.length;
      if (count) foundAt = (foundAt + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
      event.preventDefault();
      showFound(true);
    } else if (event.key === "Enter" && foundNodes.length) {
      take(foundNodes[Math.max(0, foundAt)]);
      panels[0].canvas.focus({ preventScroll: true });
    } else if (event.key === "Escape") {
      showFound(false);
      input.blur();
    }
  });
}

// Curves ---------------------------------------------------------------------------------------------------------

function windowSpans(from = TIMES[0]) {
  const until = Math.min(CONTENT.trained_until, TIMES[FRAMES - 1]);
  return until > from ? [{ from, to: until, fill: ink("window-soft") }] : [];
}

function nodeSpec() {
  const f = state.feature,
    nodes = shownNodes(),
    series = [],
    truths = [],
    guesses = [];
  const hollow = [...CONTENT.kinds].map((kind) => kind !== "t");
  for (const node of nodes) {
    const colour = nodeColour(node),
      line = curve("prediction", f, node),
      std = curve("std", f, node),
      truth = curve("truth", f, node);
    if (STATES.lower) {
      series.push({
        kind: "area",
        x: TIMES,
        low: curve("lower", f, node),
        high: curve("upper", f, node),
        colour: `${colour}2e`,
      });
      guesses.push(series[series.length - 1].low, series[series.length - 1].high);
    } else if (std) {
      series.push(band(TIMES, line, std, colour));
      guesses.push(series[series.length - 1].low, series[series.length - 1].high);
    }
    series.push({ kind: "line", x: TIMES, y: line, colour, thick: 2 });
    if (truth) {
      series.push({ kind: "dots", x: TIMES, y: truth, colour, hollow });
      truths.push(truth);
    }
    guesses.push(line);
  }
  let y = spanOf([...truths, ...guesses]);
  if (truths.length) {
    // a prediction that explodes leaves the picture
    const [low, high] = spanOf(truths),
      room = Math.max(high - low, 1e-12);
    y = [Math.max(y[0], low - room), Math.min(y[1], high + room)];
  }
  return {
    x: [TIMES[0], TIMES[FRAMES - 1]],
    y,
    xlabel: TIME_LABEL,
    clock: true,
    ylabel: FEATURES[f],
    spans: windowSpans(),
    cursor: TIMES[state.frame],
    series,
  };
}

function nodeTable() {
  const nodes = shownNodes(),
    f = state.feature,
    kinds = ["truth", "prediction", "std", "lower", "upper"].filter((kind) => STATES[kind]);
  const headings = [
    "time",
    "",
    ...nodes.flatMap((node) => kinds.map((kind) => `${nodeName(node)}, ${kind === "std" ? "spread" : kind}`)),
  ];
  return [
    headings,
    ...TIMES.map((t, k) => [
      DATES ? DATES[k] : t,
      KIND_NAMES[CONTENT.kinds[k]],
      ...nodes.flatMap((node) => kinds.map((kind) => value(kind, f, k, node))),
    ]),
  ];
}

function fillPins() {
  const chips = shownNodes().map((node) => {
    const pinned = state.pinned.includes(node),
      dot = make("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = nodeColour(node);
    return make(
      "span",
      { class: `chip${node === state.selected ? " chosen" : ""}` },
      make(
        "button",
        { type: "button", "aria-label": `Show ${nodeName(node)}`, onclick: () => choose(node) },
        dot,
        make("span", { class: "label" }, nodeName(node)),
      ),
      make(
        "button",
        {
          type: "button",
          class: "small",
          "aria-label": `${pinned ? "Unpin" : "Pin"} ${nodeName(node)}`,
          title: pinned ? "Unpin" : "Pin, to compare",
          onclick: () => togglePin(node),
        },
        pinned ? "×" : "pin",
      ),
    );
  });
  if (!chips.length)
    chips.push(make("span", { class: "quiet" }, "Click a node, or find one by name. Pin several to compare them."));
  byId("pins").replaceChildren(...chips);
}

// The card beside them ---------------------------------------------------------------------------------------------

function nodeButton(node) {
  return make("button", { type: "button", class: "link", onclick: () => choose(node) }, nodeName(node));
}

function fillCard() {
  const node = state.selected,
    parts = [];
  if (node !== null) {
    const near = [...GRAPH.neighbours(node)],
      k = state.frame,
      f = state.feature;
    const range =
      STATES.lower && value("lower", f, k, node) === value("lower", f, k, node)
        ? `${shortNumber(value("lower", f, k, node))} to ${shortNumber(value("upper", f, k, node))}`
        : "–";
    const lines = [
      ["truth", "Truth"],
      ["prediction", "Prediction"],
      ["std", "± spread"],
      ["error", "Error"],
    ]
      .filter(([kind]) => STATES[kind])
      .map(([kind, word]) =>
        make("tr", {}, make("th", { scope: "row" }, word), make("td", {}, shortNumber(value(kind, f, k, node)))),
      );
    if (STATES.lower)
      lines.push(
        make("tr", {}, make("th", { scope: "row" }, `${100 * FORECAST.level} % interval`), make("td", {}, range)),
      );
    parts.push(
      make("h3", { class: "node-name" }, nodeName(node)),
      make(
        "table",
        { class: "values" },
        make("caption", {}, `${FEATURES[f]} at ${timeText(k)}`),
        make("tbody", {}, ...lines),
      ),
    );
    if (worstFirst?.rank.has(node))
      parts.push(
        make(
          "p",
          { class: "quiet" },
          `Mean |error| ${HELD_WORDS}: ${shortNumber(worstFirst.errors[node])}, number ${worstFirst.rank.get(node)} of ${NODES}.`,
        ),
      );
    parts.push(
      make("h4", {}, near.length === 1 ? "1 neighbour" : `${near.length} neighbours`),
      make(
        "p",
        { class: "names" },
        ...near.slice(0, 12).map(nodeButton),
        ...(near.length > 12 ? [make("span", { class: "quiet" }, `and ${near.length - 12} more`)] : []),
      ),
    );
  }
  if (worstFirst)
    parts.push(
      make("h4", {}, "Largest errors"),
      make("p", { class: "names" }, ...worstFirst.order.slice(0, 6).map(nodeButton)),
    );
  byId("node-card").replaceChildren(...parts);
}

function startNodes() {
  rankNodes();
  startSearch();
  const legend = make("ul", { class: "legend" });
  if (STATES.truth && CONTENT.kinds.includes("t")) legend.append(key("●", KIND_NAMES.t));
  if (HELD.length) legend.append(key("○", FORECAST ? "came later" : "held back"));
  legend.append(key("━", FORECAST ? "forecast" : "prediction"));
  if (STATES.lower) legend.append(key("▒", `${100 * FORECAST.level} % interval`));
  if (STATES.std) legend.append(key("▒", "± 2 standard deviations"));
  nodeChart = new Chart(byId("node-chart"), {
    title: "",
    name: "the nodes chosen over time",
    height: 300,
    spec: nodeSpec,
    table: nodeTable,
    legend,
    pick: (t) => {
      setPlaying(false);
      setFrame(nearestFrame(t));
    },
  });
  watch(["feature"], rankNodes);
  watch(["frame", "selected", "pinned", "feature", "theme", "size"], () => {
    nodeChart.draw();
    fillCard();
  });
  watch(["selected", "pinned", "theme"], fillPins);
  watch(["selected", "pinned", "feature"], () => nodeChart.fill());
  change({ selected: worstFirst && worstFirst.order.length ? worstFirst.order[0] : 0 });
}
