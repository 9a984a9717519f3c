// Elements of the page, and its screens. A screen is built once, and changed in place after that, so that
// the focus stays.

import { texts as T } from "/texts.js";

const main = document.getElementById("main");
const spoken = document.getElementById("spoken");

export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
export const button = (text, run, kind = "", more = {}) => el("button", { type: "button", class: kind, onclick: run, ...more }, text);
export const heading = (...text) => el("h1", { tabindex: "-1" }, ...text);
export const alarm = (...text) => el("p", { class: "bad", role: "alert" }, ...text);
export const row = (...nodes) => el("div", { class: "row" }, ...nodes);
// A group of controls under a heading, which names it.
export const group = (id, title, ...nodes) => el("section", { role: "group", "aria-labelledby": id }, el("h2", { id }, title), ...nodes);
export const semicolons = (words) => words.filter(Boolean).flatMap((word, index) => (index ? ["; ", word] : [word]).flat());
export const commas = (nodes) => nodes.flatMap((node, index) => (index ? [", ", node] : [node]));

// Says a text to a screen reader, also the same one once more.
let saying = null;
export function say(text) {
  clearTimeout(saying);
  spoken.textContent = "";
  saying = setTimeout(() => { spoken.textContent = text; }, 60);
}

export function size(bytes) {
  let unit = 0;
  while (bytes >= 1000 && unit < T.units.length - 1) { bytes /= 1000; unit += 1; }
  return T.size(unit === 0 || bytes >= 100 ? Math.round(bytes) : bytes.toFixed(1), unit);
}
export function time(seconds) {
  if (seconds < 60) return T.seconds(Math.max(1, Math.round(seconds)));
  if (seconds < 3600) return T.minutes(Math.round(seconds / 60));
  return T.hours(Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60));
}
export const count = (number) => number.toLocaleString();

// Screens

let current = null;
let updates = [];

export const isShown = (name) => current === name;
export const refresh = () => { for (const update of updates) update(); };
export const onUpdate = (update) => { updates.push(update); };
export const titled = (text) => { if (document.title !== `${text} – ${T.title}`) document.title = `${text} – ${T.title}`; };
// The next screen is built anew, also one of the same name.
export const rebuild = () => { current = ""; };

export function show(name, build) {
  if (current !== name) {
    const isFirst = current === null;
    [current, updates] = [name, []];
    main.replaceChildren(...build().flat(2).filter(Boolean));
    const title = main.querySelector("h1");
    titled(title.textContent);
    if (!isFirst && !main.contains(document.activeElement)) title.focus();
    scrollTo(0, 0);
  }
  refresh();
}
// Keeps the focus while nodes are laid anew: at the same node, or at one with the same identifier.
export function keepingFocus(place, change) {
  const active = document.activeElement;
  const id = place.contains(active) && active.id;
  change();
  if (id && document.activeElement?.id !== id) document.getElementById(id)?.focus();
}
// A place whose content is made anew where it has changed.
export function live(build) {
  const place = el("div");
  let last = "";
  onUpdate(() => {
    const node = build() || "";
    const text = node.outerHTML ?? String(node);
    if (text !== last) { last = text; keepingFocus(place, () => place.replaceChildren(node)); }
  });
  return place;
}
export function ticking(name) {
  const clock = setInterval(() => { if (current !== name) clearInterval(clock); else refresh(); }, 1000);
}
// A field with its label, and a place for what is wrong with it.
export function field(id, label, attributes = {}) {
  const wrong = el("p", { class: "bad", id: `${id}-wrong`, role: "alert" });
  const input = el("input", { type: "text", id, autocomplete: "off", spellcheck: false, "aria-describedby": `${id}-wrong`, ...attributes });
  const complain = (...text) => {
    wrong.replaceChildren(...text.flat());
    if (text.flat().length) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
  };
  return { input, complain, nodes: [el("label", { class: "field", for: id }, label), input, wrong] };
}
