// What puts things into the page. Text of others comes in through show() and textContent only.

// longest is how many characters of a text are shown in a row, and longestOpen where it is opened.
export const longest = 160, longestOpen = 1500;

// hidden are characters that aren't seen or that change the direction of what follows.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

// show returns what is shown of a text: its beginning, with the characters named that nobody would see.
export function show(text, most = longest) {
  const all = String(text ?? "");
  // No more is looked at than could be shown.
  const characters = Array.from(all.slice(0, 2 * most + 2));
  let shown = characters.slice(0, most).join("").replace(hidden, (c) => "‹U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "›");
  if (characters.length > most) shown += `… (${number(all.length)} characters)`;
  return shown;
}

// make returns an element. Children are elements, or texts of the page itself or of others.
export function make(tag, options = {}, ...children) {
  const e = document.createElement(tag);
  if (options.class) e.className = options.class;
  if (options.role) e.setAttribute("role", options.role);
  if (options.label) e.setAttribute("aria-label", options.label);
  if (options.type) e.type = options.type;
  if (options.key) e.dataset.key = options.key;
  if (options.click) e.addEventListener("click", options.click);
  put(e, ...children);
  return e;
}

// put replaces what is in an element.
export function put(e, ...children) {
  e.replaceChildren(...children.filter((c) => c !== null && c !== undefined && c !== "").map((c) => c instanceof Node ? c : textOf(c)));
  return e;
}

// keep changes what is in an element to be like new children. A child with the key of the one before stays, so that it
// keeps the focus and isn't gone between the two halves of a click; it must do the same when it is clicked.
export function keep(e, children) {
  children.forEach((child, i) => {
    const old = e.children[i];
    if (!old) e.append(child);
    else if (!old.isEqualNode(child)) {
      if (old.dataset.key === child.dataset.key && sameShape(old, child)) copy(old, child);
      else old.replaceWith(child);
    }
  });
  while (e.children.length > children.length) e.lastElementChild.remove();
}

function sameShape(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName || a.childNodes.length !== b.childNodes.length) return false;
  return [...a.childNodes].every((child, i) => sameShape(child, b.childNodes[i]));
}

function copy(to, from) {
  if (to.nodeType === Node.TEXT_NODE) {
    if (to.data !== from.data) to.data = from.data;
    return;
  }
  to.className = from.className;
  for (const name of ["aria-pressed", "aria-selected"]) if (from.hasAttribute(name)) to.setAttribute(name, from.getAttribute(name));
  if (to.tabIndex !== from.tabIndex) to.tabIndex = from.tabIndex;
  [...to.childNodes].forEach((child, i) => copy(child, from.childNodes[i]));
}

function textOf(text) {
  const span = document.createElement("span");
  span.className = "text";
  span.textContent = show(text);
  return span;
}

// say sets the text of an element if it is another one, so that what reads the page aloud isn't disturbed.
export function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// byId returns an element of the page.
export const byId = (id) => document.getElementById(id);

// painted waits until what is in the page is painted. A window that isn't seen paints nothing, so it doesn't wait for long.
export const painted = () => Promise.race([new Promise((done) => requestAnimationFrame(() => setTimeout(done))), new Promise((done) => setTimeout(done, 200))]);

// number writes a whole number with separators. Number.toLocaleString takes a hundred times as long, which rows wait for.
export const number = (n) => String(Number(n)).replace(/\B(?=(\d{3})+$)/g, ",");

// count is a number with its word.
export const count = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

// length is how long some seconds are.
export function length(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

// since is how long ago a time was.
export const since = (time) => length(Math.max(0, (Date.now() - Date.parse(time)) / 1000));

// age is an element that shows how long ago a time was. grow keeps all of these up to date.
export function age(time) {
  const e = make("span", {}, since(time));
  e.dataset.since = time;
  return e;
}

export const grow = () => document.querySelectorAll("[data-since]").forEach((e) => say(e, since(e.dataset.since)));

// clock is the time of day.
export const clock = (time = Date.now()) => new Date(time).toLocaleTimeString("en-GB");

// looks says how states look: what is well, worth a look, wrong, or neither. Their shapes differ, too.
const looks = {
  published: "well", synced: "well", well: "well", ready: "well", serving: "well", live: "well", served: "well",
  pending: "note", note: "note", waiting: "note", listing: "note", connecting: "note", held: "held",
  behind: "wrong", deleted: "wrong", failing: "wrong", conflict: "wrong", wrong: "wrong", "not ready": "wrong", failed: "wrong", disconnected: "wrong",
  stale: "held", warning: "held", "no-zone": "held", unwanted: "held", unknown: "held", "no-endpoints": "held", "partly-served": "held", unserved: "wrong",
};
const shapes = { well: "●", note: "◐", held: "▲", wrong: "◆", none: "○" };

// state shows a state by its word, a shape and a color. "well" is shown as "ok", as by the commands.
export function state(word) {
  const look = Object.hasOwn(looks, word) ? looks[word] : "none";
  const shape = make("span", { class: "shape" }, shapes[look]);
  shape.setAttribute("aria-hidden", "true");
  return make("span", { class: "state " + look }, shape, word === "well" ? "ok" : show(word, 24));
}

// objectText is KIND/NAMESPACE/NAME, as it can be asked about.
export const objectText = (o) => [o.kind, o.namespace, o.name].filter(Boolean).join("/");

// leaderName is the pod in the identity of a leader, which ends in an underscore and random text.
export const leaderName = (identity) => identity.split("_")[0];
