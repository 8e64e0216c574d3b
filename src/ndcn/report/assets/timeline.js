// The slider of time: moments as marks by kind, play and pause, keys.

const SECONDS = 9; // from the first to the last moment at speed 1
const slider = byId("time");
let clockTime = 0,
  lastTick = null;

function kindColours() {
  const [blue, orange] = PALETTE[themeNow()];
  return { t: ink("quiet"), i: blue, e: orange, g: ink("quiet"), f: ink("quiet"), w: ink("quiet"), a: ink("quiet") };
}

function nearestFrame(time) {
  let low = 0,
    high = FRAMES - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (TIMES[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low > 0 && time - TIMES[low - 1] <= TIMES[low] - time ? low - 1 : low;
}

function setFrame(frame) {
  change({ frame: Math.max(0, Math.min(FRAMES - 1, frame)) });
}

function showTime() {
  const k = state.frame,
    kind = KIND_NAMES[CONTENT.kinds[k]];
  if (!state.playing || Math.abs(Number(slider.value) - TIMES[k]) > 0) slider.value = TIMES[k];
  slider.setAttribute("aria-valuetext", `${timeText(k)}, ${kind}, moment ${k + 1} of ${FRAMES}`);
  byId("clock").textContent = timeText(k);
  byId("kind").textContent = kind;
  byId("kind").dataset.kind = CONTENT.kinds[k];
  if (!state.playing && state.selected !== null) say(reading(state.selected));
}

function setPlaying(playing) {
  if (playing && state.frame >= FRAMES - 1) setFrame(0);
  lastTick = null;
  clockTime = playing && state.frame >= FRAMES - 1 ? TIMES[0] : TIMES[state.frame];
  change({ playing });
  if (playing) requestAnimationFrame(tick);
}

function tick(now) {
  if (!state.playing) return;
  if (lastTick !== null)
    clockTime +=
      (Math.min(now - lastTick, 200) / 1000 / SECONDS) * Number(byId("speed").value) * (TIMES[FRAMES - 1] - TIMES[0]);
  lastTick = now;
  let k = state.frame;
  while (k < FRAMES - 1 && TIMES[k + 1] <= clockTime) k++;
  setFrame(k);
  if (k >= FRAMES - 1) setPlaying(false);
  else requestAnimationFrame(tick);
}

function drawMoments() {
  const canvas = byId("marks"),
    width = canvas.clientWidth,
    height = 26;
  if (!width) return;
  const surface = new CanvasSurface(fitted(canvas, width, height)),
    colours = kindColours();
  const at = (t) => 8 + ((t - TIMES[0]) / (TIMES[FRAMES - 1] - TIMES[0] || 1)) * (width - 16);
  const end = at(Math.min(CONTENT.trained_until, TIMES[FRAMES - 1]));
  if (end > 8) surface.rect(8, 20, end - 8, 5, ink("window"));
  const lastData = [...CONTENT.kinds].map((kind, k) => (kind === "f" ? -1 : k)).reduce((a, b) => Math.max(a, b), -1);
  for (let x = (lastData < 0 ? 8 : at(TIMES[lastData])) + 3; x < width - 8; x += 6)
    surface.segments([x, 25, x + 5, 20], ink("quiet"), 1);
  TIMES.forEach((t, k) => {
    const kind = CONTENT.kinds[k],
      x = at(t),
      colour = colours[kind];
    if ("tga".includes(kind) || (kind === "w" && k % 10 === 0)) surface.segments([x, 14, x, 19], colour, 1);
    else if (kind === "i") {
      surface.segments([x, 9, x, 19], colour, 1);
      surface.circle(x, 7, 2.6, { fill: colour });
    } else if (kind === "e")
      surface.path(
        [
          [x, 4],
          [x + 3.4, 8],
          [x, 12],
          [x - 3.4, 8],
        ],
        { fill: colour, close: true },
      );
    if (kind === "e") surface.segments([x, 12, x, 19], colour, 1);
  });
}

function fillLegend() {
  const count = (kind) => [...CONTENT.kinds].filter((k) => k === kind).length,
    colours = kindColours(),
    items = [];
  if (count("t")) items.push(key("❘", `${KIND_NAMES.t} (${count("t")})`, colours.t));
  if (count("i")) items.push(key("●", `interpolation (${count("i")})`, colours.i));
  if (count("e")) items.push(key("◆", `${KIND_NAMES.e} (${count("e")})`, colours.e));
  if (!FORECAST)
    items.push(make("li", {}, make("span", { class: "swatch window", "aria-hidden": "true" }), "training window"));
  if (count("f"))
    items.push(make("li", {}, make("span", { class: "swatch hatch", "aria-hidden": "true" }), KIND_NAMES.f));
  byId("legend").replaceChildren(...items);
}

function startTimeline() {
  slider.min = TIMES[0];
  slider.max = TIMES[FRAMES - 1];
  slider.value = TIMES[0];
  if (FORECAST) setFrame(Math.max(0, CONTENT.kinds.search(/[ef]/))); // about the past it says nothing
  slider.addEventListener("input", () => {
    setPlaying(false);
    setFrame(nearestFrame(Number(slider.value)));
  });
  slider.addEventListener("change", () => {
    slider.value = TIMES[state.frame];
  });
  slider.addEventListener("keydown", (event) => {
    if (moveByKey(event)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
  byId("play").addEventListener("click", () => setPlaying(!state.playing));
  watch(["frame"], showTime);
  watch(["theme", "size"], () => {
    drawMoments();
    fillLegend();
  });
  watch(["playing"], () => {
    const button = byId("play");
    button.classList.toggle("playing", state.playing);
    button.setAttribute("aria-label", state.playing ? "Pause" : "Play");
    showTime();
  });
  byId("play").setAttribute("aria-label", "Play");
}

function moveByKey(event) {
  const step = event.shiftKey ? 10 : 1;
  const to = {
    ArrowRight: state.frame + step,
    ArrowUp: state.frame + step,
    ArrowLeft: state.frame - step,
    ArrowDown: state.frame - step,
    PageUp: state.frame + 10,
    PageDown: state.frame - 10,
    Home: 0,
    End: FRAMES - 1,
  }[event.key];
  if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
  setPlaying(false);
  setFrame(to);
  return true;
}
