// What is wrong now, the worst first, as `signpost now` says it.

import { age, clock, count, leaderName, longestOpen, make, number, show, state } from "./dom.js";
import { get } from "./api.js";
import { request } from "./place.js";
import { Replicas } from "./replicas.js";

// words say what an area is called.
const words = { process: "Process", leader: "Leader", kind: "Kinds of objects", cluster: "Clusters", zone: "Zones", write: "Writes", service: "Services", stream: "Streams", record: "Records", plan: "Held", problem: "Problems" };

// tabsOf say which list has more of an area.
const tabsOf = { cluster: "clusters", kind: "tables", service: "services", stream: "streams", record: "records", plan: "plans", problem: "problems" };

// every is how often it is asked while the list is open, in milliseconds, and soon how soon after a change.
const every = 5000, soon = 1000;

const text = (kind, of) => {
  const e = make("div", { class: kind });
  e.textContent = show(of, longestOpen / 3);
  return e;
};

// item is one finding: its subject, its cause and what explains more.
function item(f, ask, open) {
  const wrong = f.severity === "error";
  const more = f.count - 1;
  const tab = Object.hasOwn(tabsOf, f.area) ? tabsOf[f.area] : "";
  return make("li", { class: "finding is-" + (wrong ? "wrong" : "held"), key: [f.area, f.subject, f.cause, f.explain].join("|") },
    make("div", { class: "what" }, state(wrong ? "wrong" : "warning"), f.explain ? make("button", { class: "link", type: "button", click: () => ask(f.explain) }, f.subject) : make("strong", {}, f.subject),
      more > 0 ? make("span", { class: "faint" }, `and ${number(more)} more`) : null,
      f.since ? make("span", { class: "faint" }, "for ", age(f.since)) : null),
    text("said", f.cause),
    f.others?.length ? text("faint", f.others.join(", ") + (more > f.others.length ? ", …" : "")) : null,
    tab ? make("button", { class: "link faint", type: "button", click: () => open(tab) }, words[f.area]) : null);
}

// Now keeps the list of what is wrong up to date.
export class Now {
  constructor(panel, ask, status, open) {
    this.ask = ask;
    this.statusNow = status;
    this.open = open;
    this.tab = "now";
    this.verdict = make("div", { class: "now", role: "status" });
    this.list = make("ol", { class: "findings", label: "What is wrong, the worst first" });
    this.note = make("p", { class: "faint" });
    this.timer = 0;
    this.hurries = false;
    this.closed = false;
    this.shown = "";
    this.answered = false;
    this.replicas = new Replicas();
    panel.replaceChildren(this.verdict, this.list, this.note, this.replicas.element);
    this.status();
    this.first = this.refresh();
  }

  async refresh() {
    clearTimeout(this.timer);
    this.hurries = false;
    const early = !this.answered;
    this.answered = true;
    try {
      const now = await (early ? get(...request("now")) : get("/now"));
      if (this.closed) return;
      this.show(now);
    } catch (err) {
      if (this.closed) return;
      this.say("unknown", "Not known", err.message);
      this.list.replaceChildren();
      this.shown = "";
    }
    if (this.hurries) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), early ? 100 : every);
  }

  // later is called when something has changed. Further changes don't put the answer off.
  later() {
    if (this.hurries) return;
    this.hurries = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), soon);
  }

  delta() { this.later(); }

  // status shows the replicas of a status. tick does, too, because their times grow.
  status() { this.replicas.show(this.statusNow()); }
  tick() { this.status(); }

  show(now) {
    const all = now.findings ?? [];
    const errors = all.filter((f) => f.severity === "error").length;
    const others = (this.statusNow()?.leading ?? []).filter((l) => l.lease && !l.leads && l.leader).map((l) => `${l.role} (${leaderName(l.leader)})`).join(", ");
    if (all.length) this.say(errors ? "wrong" : "held", `${count(all.length + (now.omitted ?? 0), "cause")}`, `${number(now.total)} ${now.total === 1 ? "thing is" : "things are"} not as objects ask for`);
    else if (now.unknown?.length) this.say("unknown", "Not all is known", "Nothing that is known is wrong");
    else this.say("well", others ? "Nothing is wrong in this process" : "Nothing is wrong", "");
    const lines = all.map((f) => item(f, this.ask, this.open));
    // A list that says the same stays, so that it keeps the focus.
    const same = JSON.stringify(all);
    if (same !== this.shown) {
      const focused = [...this.list.children].findIndex((e) => e.contains(document.activeElement));
      const key = focused >= 0 ? this.list.children[focused].dataset.key : "";
      this.list.replaceChildren(...lines);
      if (key) lines.find((e) => e.dataset.key === key)?.querySelector("button")?.focus();
      this.shown = same;
    }
    const parts = [`Checked at ${clock(now.checked)}.`];
    if (others) parts.push(`What only a leader knows is not checked here: see the page of the leader of ${show(others, 300)}.`);
    if (now.omitted) parts.push(`${number(now.omitted)} causes are left out.`);
    for (const u of now.unknown ?? []) parts.push(`Not known: ${show(u)}.`);
    this.note.textContent = parts.join(" ");
  }

  say(look, title, more) {
    this.verdict.className = "now is-" + look;
    const words = [title, more].filter(Boolean).join(": ") + ".";
    if (this.verdict.textContent !== words) this.verdict.textContent = words;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
