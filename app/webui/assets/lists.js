// The lists: a table that the server filters and pages, and what its columns are.

import { age, clock, count, length, longestOpen, make, number, objectText, painted, put, say, show, state } from "./dom.js";
import { get } from "./api.js";
import { request, streamStates } from "./place.js";

// atOnce is how many rows of a new list are painted before the others: more than a window shows.
const atOnce = 30;

const faint = (...what) => make("div", { class: "faint" }, ...what);
// long is a text of which more than usual is shown.
const long = (text, kind = "faint") => {
  const e = make("div", { class: kind });
  e.textContent = show(text, longestOpen / 3);
  return e;
};
const few = (list, most = 4) => [...(list ?? []).slice(0, most).map((t) => make("div", {}, t)), (list?.length ?? 0) > most ? faint(`and ${list.length - most} more`) : null];
// asked is a text that explains something when it is clicked. It breaks where it has slashes first.
const asked = (text, what, ask) => make("button", { class: "link", type: "button", click: () => ask(what) },
  ...show(text).split("/").flatMap((part, i) => (i ? [make("wbr"), "/" + part] : [part])));
const targets = (r) => {
  const wanted = r.wanted ?? [], have = r.targets ?? [];
  if (!wanted.length || wanted.join("\n") === have.join("\n")) return few(have);
  return [...few(wanted), faint(have.length ? "the zone has " : "the zone has none", ...few(have, 2))];
};

// portText is a port, such as "http:80", with its number first; the ":" of a name that is a number would be read as a mapping.
const portText = (p) => {
  const [, name, port] = /^([^:]*):(.*)$/.exec(p) ?? [];
  return port ? `${port} (${name})` : p;
};

// lists say for each list the field of its answer, which topic tells its changes, and its columns: a title, what a cell
// has, and its class. A record without an id is named by key. line are
// the columns that a row has on a phone until it is opened.
export const lists = {
  services: {
    line: ["State", "Service", "Ready"], title: "Services", items: "services", topic: "status", search: "Namespace or name",
    key: (s) => s.namespace + "/" + s.name, states: ["unserved", "no-endpoints", "partly-served", "served", "no-ports", "external-name"],
    columns: [
      ["State", (s) => [state(s.state)], "short"],
      ["Service", (s, ask) => [asked(s.namespace + "/" + s.name, `Service/${s.namespace}/${s.name}`, ask)]],
      ["Ports", (s) => [(s.ports ?? []).slice(0, 20).map(portText).join(", ")]],
      ["Ready", (s) => [number(s.ready)], "number"],
      ["Not ready", (s) => [s.notReady ? number(s.notReady) : "–"], "number"],
      ["Streams", (s) => [number(s.streams)], "number"],
      ["Where", (s) => [s.federated ? "federated" : s.remote ? make("span", {}, "cluster ", s.remote) : "here"]],
    ],
  },
  streams: {
    line: ["State", "Target", "Lag"], title: "Streams", items: "streams", topic: "streams", search: "Service, client, node or address",
    key: (s) => s.id, states: streamStates,
    columns: [
      ["State", (s) => [state(s.state)], "short"],
      ["Target", (s, ask) => [s.service ? asked(s.target, `Service/${s.service}`, ask) : s.target, faint(s.method)]],
      ["Client", (s) => [s.pod ? `${s.namespace}/${s.pod}` : s.peer || "unknown", s.pod ? faint(s.peer) : null]],
      ["Node", (s) => [s.node || "–", s.view && s.view !== "all" && s.method !== "GetProfile" ? faint(s.view) : null]],
      ["Endpoints", (s) => [s.method === "GetProfile" ? "–" : number(s.endpoints)], "number"],
      ["Version", (s) => [s.sent === s.current ? number(s.sent) : `${number(s.sent)} of ${number(s.current)}`], "number"],
      ["Lag", (s) => [s.state === "synced" && !s.lagSeconds ? "–" : length(lagNow(s))], "number lag"],
      ["Open for", (s) => [age(s.opened)], "number"],
    ],
    note: (page) => `Those that lack something come first.${page.total ? "" : " Nobody has a stream open now."}`,
  },
  records: {
    line: ["State", "Name", "Type"], title: "Records", items: "records", topic: "records", search: "Name, target or object",
    key: (r) => r.id, states: ["published", "pending", "held", "conflict", "no-zone", "failing", "unwanted", "foreign"],
    columns: [
      ["State", (r) => [state(r.state)], "short"],
      ["Name", (r, ask) => [asked(r.name, r.name, ask), r.setIdentifier ? faint("set ", r.setIdentifier) : null, r.message ? long(r.message, "message") : null, r.next ? faint(`next try at ${clock(r.next)}`) : null]],
      ["Type", (r) => [show(r.type, 16), r.ttl ? faint(`TTL ${r.ttl}`) : null], "short"],
      ["Targets", (r) => [...targets(r), r.truncated ? faint("and more") : null], "side"],
      ["Zone", (r) => [r.zone || "–", r.publisher ? faint(r.publisher) : null, r.owner ? faint("owner ", r.owner) : null], "side"],
      ["Objects", (r, ask) => [...(r.objects ?? []).slice(0, 3).map((o) => make("div", {}, asked(objectText(o), objectText(o), ask), o.cluster ? faint("cluster ", o.cluster) : null)), (r.objects?.length ?? 0) > 3 ? faint(`and ${r.objects.length - 3} more`) : null], "side"],
    ],
  },
  problems: {
    line: ["Object", "For"], title: "Problems", items: "problems", topic: "problems", search: "Object, field or reason",
    key: (p) => p.id || [objectText(p.object), p.field, p.reason].join("|"),
    columns: [
      ["Object", (p, ask) => [asked(objectText(p.object), objectText(p.object), ask), p.object.cluster ? faint("cluster ", p.object.cluster) : null]],
      ["Field", (p) => [p.field || "–", p.value ? faint(p.value) : null]],
      ["Reason", (p) => [long(p.reason, "")]],
      ["For", (p) => [age(p.since)], "number"],
    ],
    note: (page) => (page.total ? "Parts of objects that can't be used. The rest of each object is." : "Nothing of any object is unusable."),
  },
};

// fixed are lists that are part of the status.
export const fixed = {
  clusters: {
    line: ["State", "Cluster", "Objects"], title: "Clusters", of: (s) => s.clusters ?? [], key: (c) => c.secret + "/" + c.name,
    columns: [
      ["State", (c) => [state(c.state)], "short"],
      ["Cluster", (c) => [c.name, c.trustDomain ? faint("trust domain ", c.trustDomain) : null]],
      ["Objects", (c) => [number(c.objects)], "number"],
      ["For", (c) => [age(c.since)], "number"],
      ["Server", (c) => [c.server || "–", faint("Secret ", c.secret)]],
      ["Reason", (c) => [c.reason ? long(c.reason, "") : "–"]],
    ],
  },
  tables: {
    line: ["State", "Kind", "Objects"], title: "Tables", of: (s) => s.tables ?? [], key: (t) => t.group + "/" + t.kind,
    columns: [
      ["State", (t) => [state(t.state)], "short"],
      ["Kind", (t) => [t.kind, t.group ? faint(t.group) : null]],
      ["Objects", (t) => [number(t.objects)], "number"],
      ["Stale for", (t) => [t.staleSeconds > 0 ? length(t.staleSeconds) : "–"], "number"],
      ["Needed", (t) => [t.required ? "yes" : "no"]],
      ["Reason", (t) => [t.reason || "–", t.detail ? long(t.detail) : null]],
    ],
  },
};

const read = new WeakMap();
const lagNow = (s) => s.lagSeconds + (s.state === "behind" && read.has(s) ? (Date.now() - read.get(s)) / 1000 : 0);

// units are what numbers count, where a phone has no title beside them.
const units = { Ready: "ready", Objects: "objects" };

// opener opens a row of a phone, which then has all columns, and closes it. It isn't seen on a wider window.
function opener(line, name) {
  const b = make("button", { class: "quiet", type: "button", label: `Details of ${show(name)}`, click: () => set(!line.classList.contains("open")) });
  const set = (open) => {
    line.classList.toggle("open", open);
    b.setAttribute("aria-expanded", String(open));
    b.textContent = open ? "▴" : "▾";
  };
  set(line.classList.contains("open"));
  return b;
}

// Rows keeps the rows of a table in step with items.
export class Rows {
  constructor(spec, ask) {
    this.spec = spec;
    this.ask = ask;
    this.rows = new Map();
    this.waiting = null; // items whose rows wait until the first ones are painted
    this.body = make("tbody", { role: "rowgroup" });
    const heads = spec.columns.map(([title, , kind]) => {
      const th = make("th", { role: "columnheader", class: kind ?? "" }, title);
      th.scope = "col";
      return th;
    });
    heads.push(make("th", { role: "columnheader", class: "opener" }, "Details"));
    this.table = make("table", { role: "table", label: spec.title, class: "list" }, make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), this.body);
  }

  // set replaces the items. Rows of items that are still there stay. A new list gets its first rows at once, and the
  // others when those are painted, which it waits for.
  async set(items) {
    this.waiting = null;
    if (this.rows.size || items.length <= atOnce) return this.place(items);
    this.place(items.slice(0, atOnce));
    this.waiting = items;
    await painted();
    if (this.waiting === items) this.fillUp();
  }

  // fillUp adds the rows that wait.
  fillUp() {
    const items = this.waiting;
    this.waiting = null;
    if (items) this.place(items);
  }

  place(items) {
    const next = new Map();
    for (const item of items) {
      const id = this.spec.key(item);
      const row = this.rows.get(id) ?? { line: make("tr", { role: "row" }), text: "" };
      this.rows.delete(id);
      next.set(id, row);
      this.fill(row, item);
    }
    for (const row of this.rows.values()) row.line.remove();
    this.rows = next;
    let at = this.body.firstChild;
    for (const row of next.values()) {
      if (row.line === at) at = at.nextSibling;
      else this.body.insertBefore(row.line, at);
    }
  }

  // update changes the row of an item, and says whether it has one.
  update(item) {
    this.fillUp();
    const row = this.rows.get(this.spec.key(item));
    if (!row) return false;
    this.fill(row, item);
    return true;
  }

  fill(row, item) {
    const text = JSON.stringify(item);
    read.set(item, Date.now());
    if (row.text === text) return;
    const buttons = () => [...row.line.querySelectorAll("button")];
    const changed = row.text !== "";
    const focused = changed ? buttons().indexOf(document.activeElement) : -1;
    row.text = text;
    row.item = item;
    put(row.line, ...this.spec.columns.map(([title, cell, kind]) => {
      const inLine = this.spec.line.includes(title);
      const td = make("td", { role: "cell", class: (kind ?? "") + (inLine ? " line" : "") }, ...cell(item, this.ask));
      td.dataset.title = title;
      if (inLine && kind === "number" && Object.hasOwn(units, title)) td.dataset.unit = units[title];
      return td;
    }), make("td", { role: "cell", class: "opener" }, opener(row.line, this.spec.key(item))));
    if (focused >= 0) buttons()[Math.min(focused, buttons().length - 1)]?.focus();
    if (changed) {
      // An animation of another name begins, without a layout for each row.
      const again = row.line.classList.contains("changed");
      row.line.classList.toggle("changed", !again);
      row.line.classList.toggle("changed-again", again);
    }
  }

  // tick shows what changes with time alone.
  tick() {
    const at = this.spec.columns.findIndex(([, , kind]) => kind?.includes("lag"));
    if (at < 0) return;
    for (const { line, item } of this.rows.values()) {
      if (item.state === "behind") put(line.children[at], ...this.spec.columns[at][1](item));
    }
  }
}

// readPage reads a page of a list.
export async function readPage(tab, place, signal) {
  const page = await get(...request(tab, place), signal);
  return { items: page[lists[tab].items] ?? [], total: page.total };
}

// counted says which rows of how many are shown.
export function counted(e, spec, filter, page) {
  const from = filter.offset ?? 0;
  const filtered = filter.search || filter.zone || filter.states?.length;
  if (!page.total) return say(e, filtered ? "Nothing matches. Take a filter away." : "There is nothing here.");
  say(e, page.total > page.items.length ? `${number(from + 1)}–${number(from + page.items.length)} of ${number(page.total)}` : count(page.total, "row"));
}
