// The page: header, numbers, lists, and what keeps them up to date.

import { Failed, get, listen } from "./api.js";
import { age, byId, clock, count, grow, keep, leaderName, longestOpen, make, number, painted, put, say, show, state } from "./dom.js";
import { explain } from "./explain.js";
import { feed, note } from "./feed.js";
import { Figures } from "./figures.js";
import { counted, fixed, lists, readPage, Rows } from "./lists.js";
import { Now } from "./now.js";
import { earlyTab, hashOf, pageSize, placeOf, titles } from "./place.js";
import { Plans } from "./plans.js";

const panel = byId("panel");
let status = null, plans = [], zones = [];
// plansUnknown says why the plans are not known; empty if they are.
let plansUnknown = "Reading…";
// lacking are the lists that the process doesn't have.
const lacking = new Set();
// place is what is shown.
let place = { tab: "", q: "", search: "", states: [], zone: "", offset: 0 };
let view = null;
const planList = new Plans(panel, () => readPlans());
const figures = new Figures(byId("figures"));

// ---- where we are

// go shows something else. A step that can be taken back gets an entry in the history.
function go(change, { back = true } = {}) {
  const next = { ...place, ...change };
  if (hashOf(next) === hashOf(place)) return;
  history[back ? "pushState" : "replaceState"](null, "", hashOf(next));
  arrive(next);
}

function arrive(next) {
  const before = place;
  place = next;
  if (next.q !== before.q) {
    byId("q").value = next.q;
    explain(next.q, ask);
  }
  const tab = status ? shownTab() : earlyTab(place);
  if (!tab) return; // the list comes with the status
  if (tab !== view?.tab) open(tab);
  else if (["search", "zone", "offset"].some((k) => next[k] !== before[k]) || next.states.join() !== before.states.join()) view.refresh?.();
}

function ask(q) {
  if (q === place.q) explain(q, ask);
  go({ q });
  byId("answer").scrollIntoView({ block: "nearest" });
}

// ---- header and numbers

function header() {
  const pairs = [["process", status.process], ["version", status.version], ["roles", (status.roles ?? []).join(", ") || "none"]];
  for (const l of (status.leading ?? []).slice(0, 8)) pairs.push([show(l.role, 30) + " led by", l.leads ? "this process" : l.leader ? leaderName(l.leader) : "nobody known"]);
  pairs.push(["up for", age(status.started)]);
  put(byId("process"), ...pairs.map(([k, v]) => make("div", {}, make("dt", {}, k), make("dd", {}, v))));
  put(byId("ready"), state(status.ready ? "ready" : "not ready"));
  byId("remarks").replaceChildren(...remarks().map((d) => {
    const p = make("p", { class: "remark" });
    p.textContent = show(d, longestOpen / 3);
    return p;
  }));
  document.title = (status.ready ? "" : "not ready · ") + "Signpost · " + show(status.process, 80);
}

// remarks are the lines of /ready that aren't shown elsewhere: the header has the leaders, and the list of what is wrong
// now has what a process that isn't ready waits for.
const remarks = () => (status.ready ? (status.details ?? []).filter((d) => !d.startsWith("leader: ")).slice(0, 20) : []);

const tile = (label, n, change, look = "") => make("button", { class: "tile " + look, type: "button", key: JSON.stringify(change), click: () => go({ search: "", states: [], zone: "", offset: 0, ...change }) },
  make("span", { class: "value" }, n), make("span", { class: "label" }, label));

function tiles() {
  const c = status.counts ?? {}, all = [];
  const bad = (n, look) => (n ? look : "");
  // Before everything was read, none is not known to be none.
  const known = (n) => (n || status.ready ? number(n) : "–");
  if (c.services !== undefined) all.push(tile("Services", known(c.services), { tab: "services" }));
  if (c.streams !== undefined) all.push(tile("streams", number(c.streams), { tab: "streams" }), tile("streams behind", number(c.streamsBehind ?? 0), { tab: "streams", states: ["behind"] }, bad(c.streamsBehind, "wrong")));
  if (c.records) all.push(recordTile(c.records));
  if (c.heldPlans !== undefined) {
    const held = plans.reduce((sum, p) => sum + p.deletions + p.updates, 0), label = plans.some((p) => p.updates) ? "held changes" : "held deletions";
    all.push(tile(c.heldPlans ? `${label} in ${count(c.heldPlans, "zone")}` : label, c.heldPlans && !held ? "–" : number(held), { tab: "plans" }, bad(c.heldPlans, "held")));
  }
  if (c.problems !== undefined) all.push(tile("problems", number(c.problems), { tab: "problems" }, bad(c.problems, "held")));
  if (status.clusters?.length) {
    const down = status.clusters.filter((l) => !["synced", "serving", "ready"].includes(l.state)).length;
    all.push(tile(down ? `clusters, ${number(down)} not synced` : "clusters", number(status.clusters.length), { tab: "clusters" }, bad(down, "held")));
  }
  keep(byId("tiles"), all);
}

function recordTile(records) {
  const total = Object.values(records).reduce((a, b) => a + b, 0);
  const parts = lists.records.states.filter((s) => records[s]).map((s) => make("button", { class: "part", type: "button", key: s, click: () => go({ tab: "records", search: "", zone: "", states: [s], offset: 0 }) }, state(s), make("span", { class: "count" }, number(records[s]))));
  return make("div", { class: "tile wide", key: "records" + parts.map((p) => p.dataset.key) }, make("button", { class: "main", type: "button", click: () => go({ tab: "records", search: "", states: [], zone: "", offset: 0 }) }, make("span", { class: "value" }, number(total)), make("span", { class: "label" }, "records")), make("div", { class: "parts" }, ...parts));
}

// ---- tabs

// needs say what a process has that has a list. What answers 404 all the same is lacking.
const needs = {
  now: () => true,
  services: (s) => s.counts?.services !== undefined,
  streams: (s) => s.counts?.streams !== undefined,
  records: (s) => s.roles?.includes("dns"),
  plans: (s) => s.roles?.includes("dns"),
  problems: (s) => s.counts?.problems !== undefined,
  clusters: (s) => s.clusters?.length > 0,
  tables: (s) => s.tables?.length > 0,
};
const has = (tab) => status !== null && needs[tab](status) && !lacking.has(tab);
const shown = () => Object.keys(titles).filter(has);
const shownTab = () => (shown().includes(place.tab) ? place.tab : shown()[0]);

function tabs() {
  const now = shownTab();
  keep(byId("tabs"), shown().map((name) => {
    const b = make("button", { role: "tab", type: "button", key: name, click: () => go({ tab: name, search: "", states: [], zone: "", offset: 0 }) }, titles[name]);
    b.id = "tab-" + name;
    b.setAttribute("aria-selected", String(name === now));
    b.setAttribute("aria-controls", "panel");
    b.tabIndex = name === now ? 0 : -1;
    if (name === now) panel.setAttribute("aria-labelledby", b.id);
    return b;
  }));
}

byId("tabs").addEventListener("keydown", (e) => {
  const all = [...byId("tabs").children], at = all.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[e.key];
  if (at < 0 || to === undefined) return;
  e.preventDefault();
  const { id } = all[(to + all.length) % all.length];
  byId(id).click();
  byId(id).focus();
});

function open(tab) {
  view?.close?.();
  view = tab === "now" ? new Now(panel, ask, () => status, (name) => go({ tab: name, search: "", states: [], zone: "", offset: 0 })) : tab === "plans" ? planView() : fixed[tab] ? fixedView(tab) : lists[tab] ? listView(tab) : { tab };
  tabs();
}

function planView() {
  planList.mount();
  planList.show(plans, plansUnknown);
  return { tab: "plans" };
}

function fixedView(tab) {
  const rows = new Rows(fixed[tab], ask);
  const render = () => rows.set(fixed[tab].of(status).slice(0, 500));
  put(panel, rows.table);
  render();
  return { tab, status: render };
}

function chips(spec, values, current, choose) {
  return values.map((v) => {
    const b = make("button", { class: "chip", type: "button", key: v.key, click: () => choose(v.key) }, v.look ?? v.key, v.count === undefined ? null : make("span", { class: "count" }, number(v.count)));
    b.setAttribute("aria-pressed", String(current.includes(v.key)));
    return b;
  });
}

function listView(tab) {
  const spec = lists[tab], rows = new Rows(spec, ask);
  const box = make("input", { type: "search", label: "Search in " + spec.title });
  box.placeholder = spec.search;
  box.maxLength = 200;
  box.value = place.search;
  const stateChips = make("div", { class: "chips", role: "group", label: "States" }), zoneChips = make("div", { class: "chips", role: "group", label: "Zones" });
  const info = make("p", { class: "info", role: "status" }), remark = make("p", { class: "faint" }), failed = make("p", { class: "notice", role: "alert" });
  failed.hidden = true;
  const move = (by) => go({ offset: Math.max(0, place.offset + by) });
  const prev = make("button", { type: "button", click: () => move(-pageSize) }, "Previous"), next = make("button", { type: "button", click: () => move(pageSize) }, "Next");
  put(panel, make("div", { class: "filters" }, box, stateChips), zoneChips, failed, make("div", { class: "scroll" }, rows.table), make("div", { class: "pager" }, info, prev, next), remark);

  let running = null, again = 0, typing = 0, closed = false, took = 0;
  const me = { tab };
  me.status = () => {
    const counts = tab === "records" && status ? status.counts?.records ?? {} : null;
    keep(stateChips, chips(spec, (spec.states ?? []).map((s) => ({ key: s, look: state(s), count: counts ? counts[s] ?? 0 : undefined })), place.states,
      (s) => go({ states: place.states.includes(s) ? place.states.filter((o) => o !== s) : [...place.states, s], offset: 0 })));
    if (tab !== "records") return;
    keep(zoneChips, chips(spec, zones.filter((z) => z.name).slice(0, 24).map((z) => ({ key: z.name, look: make("span", {}, show(z.name, 60), z.problem ? state("failing") : null), count: Object.values(z.records ?? {}).reduce((a, b) => a + b, 0) })), [place.zone],
      (z) => go({ zone: z === place.zone ? "" : z, offset: 0 })));
  };
  me.refresh = async () => {
    clearTimeout(again);
    again = 0;
    running?.abort();
    running = new AbortController();
    const { signal } = running;
    if (document.activeElement !== box) box.value = place.search;
    me.status();
    panel.setAttribute("aria-busy", "true");
    const begun = performance.now();
    try {
      const page = await readPage(tab, place, signal);
      if (closed || signal.aborted) return;
      failed.hidden = true;
      const filled = rows.set(page.items);
      counted(info, spec, place, page);
      put(remark, spec.note?.(page));
      prev.disabled = place.offset === 0;
      next.disabled = place.offset + page.items.length >= page.total;
      prev.hidden = next.hidden = page.total <= pageSize && place.offset === 0;
      await filled;
      if (closed || signal.aborted) return;
    } catch (err) {
      if (signal.aborted || closed) return;
      failed.hidden = false;
      put(failed, err.message);
      if (err.code === 409) rows.set([]);
      if (err.code === 404) {
        lacking.add(tab);
        if (status) open(shownTab());
      }
    }
    took = performance.now() - begun;
    panel.setAttribute("aria-busy", "false");
  };
  // What changed beside the rows that are shown counts at most every other second, and up to every 10 s where a list takes long.
  me.later = () => { again ||= setTimeout(me.refresh, Math.min(10000, Math.max(2000, 20 * took))); };
  me.delta = (topic, d) => {
    if (topic !== spec.topic) return;
    if (topic === "status" || d.reset) return me.later();
    const others = (d.changed ?? []).filter((item) => !rows.update(item));
    if (others.length || d.gone?.length || place.states.length) me.later();
  };
  me.tick = () => rows.tick();
  me.close = () => { closed = true; running?.abort(); clearTimeout(again); clearTimeout(typing); };
  box.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => go({ search: box.value.trim(), offset: 0 }, { back: false }), 200);
  });
  view = me;
  me.first = me.refresh();
  return me;
}

// ---- what is read

async function readPlans() {
  try {
    plans = (await get("/plan")).plans ?? [];
    plansUnknown = "";
    lacking.delete("plans");
  } catch (err) {
    plansUnknown = err.message;
    if (err.code === 404 || err.code === 409) plans = [];
    if (err.code === 404) lacking.add("plans");
  }
  if (view?.tab === "plans") planList.show(plans, plansUnknown);
  if (status) tiles();
}

async function readZones() {
  try {
    zones = (await get("/zones")).zones ?? [];
  } catch {
    zones = []; // the list of records says why
  }
  if (view?.tab === "records") view.status();
}

function took(s) {
  const before = status;
  status = s;
  header();
  tiles();
  if (before && before.ready !== s.ready) note(state(s.ready ? "ready" : "not ready"), " this process");
  for (const l of s.leading ?? []) {
    const old = before?.leading?.find((o) => o.role === l.role && o.lease === l.lease);
    if (old && old.leads !== l.leads) readAgain();
    if (old && (old.leads !== l.leads || old.leader !== l.leader)) note("the leader of ", l.role, " is ", l.leads ? "this process" : l.leader || "unknown");
  }
  tabs();
  if (view && shownTab() === view.tab) view.status?.();
  else if (view) open(shownTab());
}

async function readAll() {
  lacking.clear();
  const early = view ? "" : earlyTab(place);
  if (early) open(early);
  took(await get("/status"));
  tabs();
  if (!view || view.tab !== shownTab()) open(shownTab());
  else if (!early) view.refresh?.();
  await firstRows();
  if (has("plans")) await Promise.all([readPlans(), readZones()]);
  tabs();
  if (view.tab !== shownTab()) open(shownTab());
}

// firstRows waits until the first rows of the list are painted, because everything else would delay them, but not for long.
const firstRows = () => Promise.race([Promise.resolve(view?.first).then(painted), new Promise((done) => setTimeout(done, 1500))]);

// readAgain reads what may have changed since readAll. The connection brings the status.
async function readAgain() {
  view?.later?.();
  if (has("plans")) await Promise.all([readPlans(), readZones()]);
}

// ---- live

// first is what is read while the connection begins; null after that.
let down = 0, heard = Date.now(), checking = false, first = null, live = null;

function connection(up) {
  const flag = byId("live");
  if (up) {
    if (down) note(`connected again, after ${Math.round((Date.now() - down) / 1000)} s`);
    down = 0;
    heard = Date.now();
    document.body.classList.remove("disconnected");
    put(flag, state("live"));
  } else if (!down) {
    down = Date.now();
    document.body.classList.add("disconnected");
    put(flag, state("disconnected"), ` since ${clock(down)}`);
  }
  if (up && first) {
    // Rows that are on their way come first. They are read again, because they may have changed before the connection.
    first.then(readAgain, () => readAll()).catch(() => live?.restart());
    first = null;
    return;
  }
  // A process that has no place for one more that listens can be read all the same.
  readAll().catch(() => { if (up) live?.restart(); });
}

let planTimer = 0, zoneTimer = 0;
function change(topic, d) {
  heard = Date.now();
  if (topic === "status") {
    took(d);
  } else {
    feed(topic, d);
  }
  if (topic === "plans") {
    clearTimeout(planTimer);
    planTimer = setTimeout(readPlans, 200);
  }
  if (topic === "records") zoneTimer ||= setTimeout(() => { zoneTimer = 0; readZones(); }, 2000);
  view?.delta?.(topic, d);
}

// A connection that nothing comes through isn't ended by anybody. The status is asked for then.
async function check() {
  if (down || checking || Date.now() - heard < 20000) return;
  checking = true;
  try {
    took(await get("/status", {}, AbortSignal.timeout(10000)));
    heard = Date.now();
  } catch (err) {
    if (!(err instanceof Failed) || !err.code) live?.restart();
  }
  checking = false;
}

// ---- begin

byId("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  const q = byId("q").value.trim();
  if (q) ask(q);
});
byId("answer-close").addEventListener("click", () => {
  go({ q: "" });
  byId("q").focus();
});
addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || byId("confirm").open || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  e.preventDefault();
  byId("q").select();
});
// n comes to what is wrong now.
addEventListener("keydown", (e) => {
  if (e.key !== "n" || e.ctrlKey || e.metaKey || e.altKey || byId("confirm").open || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
  go({ tab: "now", search: "", states: [], zone: "", offset: 0 });
  byId("tab-now")?.focus();
});
addEventListener("popstate", () => arrive(placeOf(location.hash)));
addEventListener("hashchange", () => arrive(placeOf(location.hash)));
place = placeOf(location.hash);
if (place.q) {
  byId("q").value = place.q;
  explain(place.q, ask);
}
say(byId("live"), "connecting…");
first = readAll();
first.catch(() => {}); // the connection reads it again
firstRows().then(() => {
  figures.refresh();
  live = listen(change, connection);
});
setInterval(() => {
  view?.tick?.();
  grow();
  check();
}, 1000);
