// The replicas of the installation: which there are, whether they are ready, and what each leads.

import { keep, make, show, since, state } from "./dom.js";

const lease = (l) => make("span", {}, make("strong", {}, show(l.role, 30)), l.since ? ` since ${since(l.since)}` : "");

// leads is the role of a replica: what it leads or, where roles have Leases, that it stands by.
function leads(r, elections) {
  if (r.leads?.length) return make("span", { class: "leads" }, "leads ", ...r.leads.flatMap((l, i) => (i ? [", ", lease(l)] : [lease(l)])));
  return make("span", { class: "leads faint" }, elections ? "stands by" : "serves");
}

// revisions says which replicas have another pod template than this one: a rollout isn't complete.
function version(r, own) {
  if (r.version) return show(r.version, 30);
  return r.revision && own?.revision && r.revision !== own.revision ? `other revision ${show(r.revision, 16)}` : "version unknown";
}

function line(r, own, elections) {
  return make("li", { key: r.process }, r.ready === undefined ? state("unknown") : state(r.ready ? "ready" : "not ready"),
    make("span", { class: "name" }, show(r.process, 80)), r.here ? make("span", { class: "faint" }, "this page") : null,
    leads(r, elections),
    make("span", { class: "faint" }, version(r, own)), r.started ? make("span", { class: "faint" }, `up ${since(r.started)}`) : null);
}

// Replicas shows them, one line each.
export class Replicas {
  constructor() {
    this.list = make("ul", { class: "replicas", label: "Replicas" });
    this.note = make("p", { class: "faint" });
    this.element = make("section", { class: "replica-list" }, make("h2", {}, "Replicas"), this.list, this.note);
    this.element.hidden = true;
  }

  show(status) {
    const all = status?.replicas ?? [];
    this.element.hidden = !all.length;
    const elections = (status?.leading ?? []).filter((l) => l.lease);
    keep(this.list, all.slice(0, 50).map((r) => line(r, all.find((o) => o.here), elections.length > 0)));
    const unled = elections.filter((l) => !l.leads && !l.leader).map((l) => l.role);
    const text = unled.length ? `No leader is known for ${show(unled.join(", "))}.` : "";
    if (this.note.textContent !== text) this.note.textContent = text;
  }
}
