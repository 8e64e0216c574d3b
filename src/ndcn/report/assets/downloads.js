// The view as a picture, the numbers as CSV.

function save(blob, name) {
  const url = URL.createObjectURL(blob),
    link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const PICTURE = { side: 380, gap: 24, top: 64, chart: 300 };

function pictureSize() {
  const { side, gap, top, chart } = PICTURE;
  return [gap + panelKinds.length * (side + gap), top + side + 44 + (shownNodes().length ? chart + 40 : 0) + gap];
}

function drawPicture(surface) {
  const { side, gap, top, chart } = PICTURE,
    [width, height] = pictureSize();
  surface.rect(0, 0, width, height, ink("card"));
  surface.text(
    `${document.title}, ${FEATURES[state.feature]} at ${timeText(state.frame)} (${KIND_NAMES[CONTENT.kinds[state.frame]]})`,
    gap,
    28,
    { fill: ink("ink"), size: 16, weight: 600 },
  );
  panelKinds.forEach((kind, k) =>
    surface.shift(gap + k * (side + gap), top, () => {
      surface.text(PANEL_NAMES[kind], 0, -10, { fill: ink("ink"), size: 13, weight: 600 });
      const missing = drawNetwork(surface, kind, side, side);
      surface.text(caption(kind, missing), 86, -10, { fill: ink("quiet"), size: 12 });
      surface.shift(0, side + 6, () => drawScale(surface, kind, side));
    }),
  );
  if (!shownNodes().length) return;
  surface.shift(gap, top + side + 56, () => {
    let x = 0;
    for (const node of shownNodes()) {
      const words = nodeName(node).slice(0, 24);
      surface.circle(x + 5, -4, 5, { fill: nodeColour(node) });
      surface.text(words, x + 16, 0, { fill: ink("ink"), size: 12 });
      x += 34 + 7 * words.length;
    }
    surface.shift(0, 12, () => drawChart(surface, width - 2 * gap, chart, nodeSpec()));
  });
}

function savePicture(kind) {
  const [width, height] = pictureSize(),
    name = momentName();
  if (kind === "svg") {
    const surface = new SvgSurface(width, height);
    drawPicture(surface);
    save(new Blob([surface.toString()], { type: "image/svg+xml" }), `${name}.svg`);
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  const ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  drawPicture(new CanvasSurface(ctx));
  canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
}

function csvCell(cell) {
  if (typeof cell === "number") return Number.isFinite(cell) ? String(Number(cell.toPrecision(7))) : "";
  const words = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell; // a table program must not take a name for a formula
  return /[",\n\r]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}

function saveTable(lines, name) {
  save(new Blob([lines.map((line) => line.map(csvCell).join(",")).join("\n"), "\n"], { type: "text/csv" }), name);
}

const tableKinds = () => STATE_KINDS.filter((kind) => STATES[kind]);
const momentName = () => `ndcn-${timeText(state.frame).replace("t = ", "t").replace(" ", "T").replaceAll(":", "")}`;
const tableTime = (frame) => (CONTENT.dates ? CONTENT.dates[frame] : TIMES[frame]);
const plainName = (node) => (GRAPH.names ? GRAPH.names[node] : String(node));

function saveMoment() {
  const columns = FEATURES.flatMap((feature, f) =>
    tableKinds().map((kind) => [FEATURES.length > 1 ? `${feature} ${kind}` : kind, kind, f]),
  );
  const lines = [["time", "node", ...columns.map(([name]) => name)]];
  for (let i = 0; i < NODES; i++)
    lines.push([tableTime(state.frame), plainName(i), ...columns.map(([, kind, f]) => value(kind, f, state.frame, i))]);
  saveTable(lines, `${momentName()}.csv`);
}

function saveCurves() {
  const lines = [["node", "time", "kind", ...tableKinds()]];
  for (const node of shownNodes())
    TIMES.forEach((_, k) =>
      lines.push([
        plainName(node),
        tableTime(k),
        KIND_NAMES[CONTENT.kinds[k]],
        ...tableKinds().map((kind) => value(kind, state.feature, k, node)),
      ]),
    );
  saveTable(lines, "ndcn-curves.csv");
}

function startDownloads() {
  const button = byId("download"),
    list = byId("download-list");
  const open = (yes) => {
    list.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
  };
  button.addEventListener("click", () => open(list.hidden));
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".menu")) open(false);
  });
  list.parentElement.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      open(false);
      button.focus();
    }
  });
  for (const item of list.querySelectorAll("button")) {
    item.addEventListener("click", () => {
      open(false);
      ({ png: () => savePicture("png"), svg: () => savePicture("svg"), moment: saveMoment, curves: saveCurves })[
        item.dataset.save
      ]();
      say("saved");
    });
  }
}
