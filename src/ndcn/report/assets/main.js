// Putting it together: theme, keys, and what happens when the window changes.

function themeChanged() {
  inkCache = null;
  change({ theme: state.theme + 1 });
}

function switchTheme() {
  document.documentElement.dataset.theme = themeNow() === "dark" ? "light" : "dark";
  themeChanged();
}

function startVariable() {
  if (FEATURES.length < 2) return;
  byId("variable-label").hidden = false;
  byId("variable").append(...FEATURES.map((name, k) => make("option", { value: String(k) }, name)));
  byId("variable").addEventListener("change", (event) => change({ feature: Number(event.target.value) }));
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    const on = event.target,
      typing = on.matches("input[type=text], select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const onButton = on.matches("button, a, summary, input[type=radio], input[type=checkbox]");
    if (event.key === " " && !onButton) setPlaying(!state.playing);
    else if (event.key === "/") byId("search").focus();
    else if (event.key === "?") byId("help").showModal();
    else if (event.key === "l" || event.key === "L") setLayout(state.layout === "square" ? "network" : "square");
    else if (event.key === "p" || event.key === "P") togglePin(state.selected);
    else if (event.key === "d" || event.key === "D") switchTheme();
    else if (
      ["ArrowUp", "ArrowDown", "PageUp", "PageDown"].includes(event.key) ||
      on.matches("input[type=radio]") ||
      !moveByKey(event)
    )
      return;
    event.preventDefault();
  });
}

async function start() {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser cannot unpack the page; use one from 2023 or later");
  await unpack();
  startVariable();
  startNetwork();
  startTimeline();
  startNodes();
  startSections();
  startDownloads();
  startKeys();
  byId("theme").addEventListener("click", switchTheme);
  darkWished.addEventListener("change", themeChanged);
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  new ResizeObserver(() => change({ size: state.size + 1 })).observe(document.documentElement);
  Object.keys(state).forEach((name) => dirty.add(name));
  redraw();
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  });
}

start().catch((error) => {
  byId("notes").replaceChildren(make("p", { class: "note" }, `This page could not be shown: ${error.message}`));
  throw error;
});
