// Sections: each script in sections/ registers one; it fills its element from its part of the content.

import { CONTENT } from "./data.js";
import { byId } from "./dom.js";

const builders = new Map();

// build(part, element): the part is what the section's Python file returned.
export function section(name, build) {
  builders.set(name, build);
}

export function startSections() {
  for (const name of CONTENT.sections) builders.get(name)(CONTENT[name], byId(name));
}
