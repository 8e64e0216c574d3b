// Elements of the page: found by id, or made with attributes, listeners and children.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, setting] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), setting);
    else if (name === "class") element.className = setting;
    else if (setting !== null && setting !== false) element.setAttribute(name, setting === true ? "" : setting);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function details(summary, content, attributes = {}) {
  return make("details", { class: "numbers", ...attributes }, make("summary", {}, summary), content);
}

export function tableRow(name, text, attributes = {}) {
  return make("tr", attributes, make("th", { scope: "row" }, name), make("td", {}, text));
}
