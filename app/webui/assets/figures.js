// Numbers of the last 15 minutes, as lines. A line has its newest, lowest and highest number beside it as text.

import { make, number } from "./dom.js";
import { get } from "./api.js";

// every is how often they are read, in milliseconds. The process has a new value every 5 s.
const every = 5000;
const width = 180, height = 32;

// known are the figures that are drawn: a title, the number of a value, and whether any above 0 is worth a look.
const known = {
  streams: { title: "open streams" },
  streamsBehind: { title: "streams behind", bad: true },
  changes: { title: "changes a second", of: (v, seconds) => v / seconds },
  recordsNotPublished: { title: "records not published", bad: true },
};

const short = (v) => (v < 10 && v % 1 ? v.toFixed(1) : number(Math.round(v)));

// The page has a picture already, whose namespace is that of all.
const namespace = document.querySelector("svg").namespaceURI;
const svg = (tag, attributes) => {
  const e = document.createElementNS(namespace, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
};

// path draws values from the right, which is now. Where one wasn't known, the line has a gap. The scale begins at 0.
function path(values, most, top) {
  const y = (v) => (height - 2 - (v / Math.max(top, 1)) * (height - 4)).toFixed(1);
  const x = (i) => (((i + most - values.length) / (most - 1)) * width).toFixed(1);
  let d = "", pen = false;
  values.forEach((v, i) => {
    if (v !== null) d += `${pen ? "L" : "M"}${x(i)} ${y(v)}` + (values[i + 1] === undefined || values[i + 1] === null ? "h.1" : "");
    pen = v !== null;
  });
  return d;
}

// card shows one figure, and changes it in place.
class Card {
  constructor(spec) {
    this.spec = spec;
    this.line = svg("path", { class: "line" });
    this.picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
    this.picture.append(this.line);
    this.value = make("span", { class: "value" });
    this.range = make("span", { class: "range" });
    this.element = make("div", { class: "figure" }, make("div", { class: "numbers" }, this.value, make("span", { class: "label" }, spec.title), this.range), this.picture);
  }

  show(values, most, seconds) {
    const all = values.slice(-most).map((v) => (typeof v === "number" ? (this.spec.of?.(v, seconds) ?? v) : null));
    const some = all.filter((v) => v !== null);
    const low = Math.min(...some), high = Math.max(...some), now = all.at(-1);
    this.line.setAttribute("d", path(all, most, high));
    this.value.textContent = now === null || now === undefined ? "–" : short(now);
    this.range.textContent = low === high ? "" : `${short(low)} to ${short(high)}`;
    this.picture.setAttribute("aria-label", `${this.spec.title} in the last 15 minutes: ${now === null ? "not known now" : short(now) + " now"}, lowest ${short(low)}, highest ${short(high)}`);
    this.element.className = "figure" + (this.spec.bad && now > 0 ? " held" : "");
  }
}

// Figures keeps them up to date while the page is seen.
export class Figures {
  constructor(box) {
    this.box = box;
    this.cards = new Map();
    this.timer = 0;
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.refresh(); });
  }

  async refresh() {
    clearTimeout(this.timer);
    if (document.hidden) return;
    try {
      this.show(await get("/figures"));
    } catch {
      // A process that has none, or can't be reached, which the header says.
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), every);
  }

  show(answer) {
    const seconds = answer.intervalSeconds || 5, most = Math.round(900 / seconds);
    const drawn = (answer.figures ?? []).filter((f) => Object.hasOwn(known, f.name) && f.values?.some((v) => v !== null));
    const names = drawn.map((f) => f.name).join();
    if (this.names !== names) {
      this.names = names;
      this.cards = new Map(drawn.map((f) => [f.name, new Card(known[f.name])]));
      this.box.replaceChildren(...[...this.cards.values()].map((c) => c.element));
    }
    for (const f of drawn) this.cards.get(f.name).show(f.values, most, seconds);
    this.box.hidden = !drawn.length;
  }
}
