// How to repeat it: commands, settings, versions, fingerprints.

import { FORECAST, HELD } from "../data.js";
import { details, make, tableRow } from "../dom.js";
import { section } from "../sections.js";
import { say } from "../state.js";

const TEXT = {
  copy: "copy",
  copyLabel: "Copy the command",
  copied: "copied",
  cannotCopy: "The browser does not allow copying.",
  firstSnapshotsOnly:
    "The forecast used only the first of these snapshots. ndcn fit makes a forecast from all of them.",
  notFromCommands:
    "The command line alone does not repeat the fit. " +
    "The settings below describe it, with the fingerprint of its data where they are known.",
  settings: "Settings",
  allSettings: "All settings",
  versions: "Versions and fingerprints",
  hash: (name) => `SHA-256 of the ${name}`,
};

const ALWAYS_SHOWN = ["model", "preset", "seed"];

async function copyCommand(command, button) {
  try {
    await navigator.clipboard.writeText(command);
  } catch {
    say(TEXT.cannotCopy);
    return;
  }
  button.textContent = TEXT.copied;
  say(TEXT.copied);
  setTimeout(() => {
    button.textContent = TEXT.copy;
  }, 1500);
}

function commandLine(command) {
  const attributes = { type: "button", class: "small", "aria-label": TEXT.copyLabel };
  const button = make("button", attributes, TEXT.copy);
  button.addEventListener("click", () => copyCommand(command, button));
  return make("div", { class: "command" }, make("code", {}, command), button);
}

function commandNotes({ commands, note }) {
  const notes = note ? [note] : [];
  if (commands.length < 2) {
    notes.push(FORECAST && HELD.length ? TEXT.firstSnapshotsOnly : TEXT.notFromCommands);
  }
  return notes.map((words) => make("p", { class: "quiet" }, words));
}

function scrolled(id, lines) {
  return make("div", { class: "scroll" }, make("table", { id }, make("tbody", {}, ...lines)));
}

function settingRow([name, setting]) {
  return tableRow(name, setting.value, { class: setting.default ? "" : "changed" });
}

function settingTables(all) {
  const settings = Object.entries(all);
  const chosen = settings.filter(([name, setting]) => !setting.default || ALWAYS_SHOWN.includes(name));
  const lines = chosen.map(([name, setting]) => tableRow(name, setting.value, { class: "changed" }));
  return make(
    "div",
    {},
    make("h3", {}, TEXT.settings),
    scrolled("settings", lines),
    details(TEXT.allSettings, scrolled("all-settings", settings.map(settingRow))),
  );
}

function versionTable({ versions, fingerprints }) {
  const lines = [
    ...Object.entries(versions).map(([name, version]) => tableRow(name, version)),
    ...Object.entries(fingerprints).map(([name, hash]) => tableRow(TEXT.hash(name), hash)),
  ];
  return make("div", {}, make("h3", {}, TEXT.versions), scrolled("versions", lines));
}

section("repeat", (repeat, element) => {
  element.append(
    make("div", { id: "commands" }, ...repeat.commands.map(commandLine), ...commandNotes(repeat)),
    make("div", { class: "pair tables" }, settingTables(repeat.settings), versionTable(repeat)),
  );
});
