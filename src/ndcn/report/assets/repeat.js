// How to repeat it: commands, settings, versions, fingerprints.

import { CONTENT, FORECAST, HELD } from "./data.js";
import { byId, make, tableRow } from "./dom.js";
import { say } from "./state.js";
import { WORDS } from "./words.js";

const ALWAYS_SHOWN = ["model", "preset", "seed"];

async function copyCommand(command, button) {
  const words = WORDS.repeat;
  try {
    await navigator.clipboard.writeText(command);
  } catch {
    say(words.cannotCopy);
    return;
  }
  button.textContent = words.copied;
  say(words.copied);
  setTimeout(() => {
    button.textContent = words.copy;
  }, 1500);
}

function commandLine(command) {
  const attributes = { type: "button", class: "small", "aria-label": WORDS.repeat.copyLabel };
  const button = make("button", attributes, WORDS.repeat.copy);
  button.addEventListener("click", () => copyCommand(command, button));
  return make("div", { class: "command" }, make("code", {}, command), button);
}

function commandNotes() {
  const { commands, note } = CONTENT.repeat;
  const notes = note ? [note] : [];
  if (commands.length < 2) {
    notes.push(FORECAST && HELD.length ? WORDS.repeat.firstSnapshotsOnly : WORDS.repeat.notFromCommands);
  }
  return notes.map((words) => make("p", { class: "quiet" }, words));
}

function fillTable(table, lines) {
  table.replaceChildren(make("tbody", {}, ...lines));
}

export function startRepeat() {
  const { commands, versions, fingerprints } = CONTENT.repeat;
  const settings = Object.entries(CONTENT.repeat.settings);
  const chosen = settings.filter(([name, setting]) => !setting.default || ALWAYS_SHOWN.includes(name));
  byId("commands").append(...commands.map(commandLine), ...commandNotes());
  fillTable(
    byId("settings"),
    chosen.map(([name, setting]) => tableRow(name, setting.value, { class: "changed" })),
  );
  fillTable(
    byId("all-settings"),
    settings.map(([name, setting]) => tableRow(name, setting.value, { class: setting.default ? "" : "changed" })),
  );
  fillTable(byId("versions"), [
    ...Object.entries(versions).map(([name, version]) => tableRow(name, version)),
    ...Object.entries(fingerprints).map(([name, hash]) => tableRow(WORDS.repeat.hash(name), hash)),
  ]);
}
