// The list of what has changed, newest first.

import { byId, clock, count, make, objectText, state } from "./dom.js";

// most is how many changes are kept, and atOnce how many of an event are named.
const most = 60, atOnce = 6;

function add(...what) {
  byId("feed-none").hidden = true;
  const feed = byId("feed");
  feed.prepend(make("li", {}, make("time", {}, clock()), make("div", {}, ...what)));
  while (feed.children.length > most) feed.lastChild.remove();
}

const lines = {
  streams: (s) => [state(s.state), " ", s.pod ? `${s.namespace}/${s.pod}` : s.peer || "a client", " ← ", s.target],
  records: (r) => [state(r.state), " ", r.name, " ", r.type],
  plans: (p) => [state("held"), " ", `${count(p.deletions, "deletion")} of `, p.zone],
  problems: (p) => [state("wrong"), " ", objectText(p.object), " ", p.field ?? ""],
};
const names = { streams: "stream", records: "record", plans: "plan", problems: "problem" };
const gone = { streams: "closed", records: "deleted", plans: "no longer held", problems: "gone" };

// feed adds what an event tells.
export function feed(topic, delta) {
  if (!lines[topic]) return;
  if (delta.reset) return add(`${names[topic]}s changed, which are read again`);
  const changed = delta.changed ?? [];
  const named = delta.goneNames ?? [];
  const unnamed = (delta.gone?.length ?? 0) - Math.min(named.length, atOnce);
  if (unnamed > 0) add(`${count(unnamed, (named.length ? "more " : "") + names[topic])} ${gone[topic]}`);
  for (const name of named.slice(0, atOnce)) add(state("deleted"), " ", name);
  if (changed.length > atOnce) add(`${count(changed.length - atOnce, "more " + names[topic], "more " + names[topic] + "s")} changed`);
  for (const item of changed.slice(0, atOnce).reverse()) add(...lines[topic](item));
}

// note adds a line of the page's own.
export const note = (...what) => add(...what);
