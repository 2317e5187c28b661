// The place in the page: a list with its filters and a question, which is also after the # of the address.

// titles are those of the lists, in the order of their tabs.
export const titles = { now: "Now", services: "Services", streams: "Streams", records: "Records", plans: "Held plans", problems: "Problems", clusters: "Clusters", tables: "Tables" };

// pageSize is how many rows there are at most.
export const pageSize = 100;

// streamStates are all states of streams, each after the worse ones.
export const streamStates = ["behind", "stale", "synced"];

// placeOf returns the place of an address.
export function placeOf(hash) {
  const p = new URLSearchParams(hash.replace(/^#/, ""));
  return { tab: Object.hasOwn(titles, p.get("tab") ?? "") ? p.get("tab") : "", q: (p.get("q") ?? "").slice(0, 512), search: (p.get("search") ?? "").slice(0, 512),
    states: (p.get("state") ?? "").split(",").filter(Boolean), zone: p.get("zone") ?? "", offset: Math.max(0, Math.trunc(Number(p.get("offset"))) || 0) };
}

// hashOf returns the address of a place.
export function hashOf(p) {
  const all = { q: p.q, tab: p.tab, search: p.search, state: p.states.join(","), zone: p.zone, offset: p.offset || "" };
  return "#" + new URLSearchParams(Object.entries(all).filter(([, v]) => v));
}

// earlyTab returns the list of a place that is read together with the status; none if it is a part of the status or of the plans.
export function earlyTab(place) {
  if (place.tab === "" || place.tab === "now") return "now";
  return ["services", "streams", "records", "problems"].includes(place.tab) ? place.tab : "";
}

// request returns the path and the parameters of the first answer of a list. That of Now has the causes that are known:
// finding out others may take requests to the API server. With several states a process lists the worst streams first.
export function request(tab, place) {
  if (tab === "now") return ["/now", { known: true }];
  const states = place.states.length || tab !== "streams" ? place.states : streamStates;
  return ["/" + tab, { search: place.search, zone: place.zone, state: states.join(","), offset: place.offset, limit: pageSize }];
}
