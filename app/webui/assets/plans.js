// Plans that wait for approval, and how they get it.

import { approve, get } from "./api.js";
import { byId, clock, count, make, number, put, show, since, state } from "./dom.js";

const zoneOf = (p) => p.zone + (p.publisher ? ` (publisher ${p.publisher})` : "");

// keyOf identifies a plan among those of all publishers.
const keyOf = (p) => JSON.stringify([p.publisher ?? "", p.zone, p.zoneId ?? "", p.hash]);

// some are the first texts of a list, and how many others there are.
const some = (list, most = 4) => list.slice(0, most).join(" ") + (list.length > most ? ` and ${number(list.length - most)} more` : "");

// difference says which targets go and which come: the first targets of both lists may be the same.
function difference(c) {
  const old = c.targets ?? [], now = c.newTargets ?? [];
  if (c.action === "delete") return some(old);
  const gone = old.filter((t) => !now.includes(t)), come = now.filter((t) => !old.includes(t)), stay = old.length - gone.length;
  return `${some(gone) || "nothing"} → ${some(come) || "nothing"}${stay ? `, ${number(stay)} stay` : ""}`;
}

// Plans is the list of plans. What is excepted of a plan stays while the plan is held.
export class Plans {
  constructor(panel, tell) {
    this.panel = panel;
    this.tell = tell;
    this.cards = new Map();
    this.list = make("div", { class: "plans" });
    this.done = make("p", { class: "notice well", role: "status" });
    this.done.hidden = true;
    this.none = make("p", { class: "faint" }, "No deletions wait for approval.");
  }

  mount() { put(this.panel, this.done, this.none, this.list); }

  show(plans) {
    this.none.hidden = plans.length > 0;
    const next = new Map(plans.map((p) => [keyOf(p), this.cards.get(keyOf(p)) ?? new Card(p, (a) => this.approved(a))]));
    for (const [key, card] of this.cards) if (!next.has(key)) card.element.remove();
    for (const [key, card] of next) if (!this.cards.has(key)) this.list.append(card.element);
    this.cards = next;
  }

  approved(a) {
    this.done.hidden = false;
    put(this.done, `Approved in ${show(a.zone)}: ${count(a.deletions, "deletion")} and ${count(a.updates, "update")}${a.excepted ? `, without ${number(a.excepted)} that were excepted` : ""}${a.gone ? `; ${number(a.gone)} that the plan has shown are not held any more` : ""}.`);
    this.tell();
  }
}

class Card {
  constructor(plan, approved) {
    this.plan = plan;
    this.approved = approved;
    this.except = new Set();
    this.shown = [];
    this.next = 0;
    this.changes = make("ul", { class: "changes" });
    this.more = make("button", { type: "button", click: () => this.read() }, "Show more");
    this.button = make("button", { type: "button", class: "danger", click: () => this.confirm() }, "Approve…");
    this.failed = make("p", { class: "notice wrong", role: "alert" });
    this.failed.hidden = true;
    this.element = make("article", { class: "plan", label: "Plan of " + show(plan.zone) },
      make("div", { class: "plan-head" }, state("held"), make("h3", {}, plan.zone), plan.publisher ? make("span", { class: "faint" }, "publisher ", plan.publisher) : null, make("code", {}, plan.hash)),
      make("p", {}, `${count(plan.deletions, "deletion")}${plan.updates ? ` and ${count(plan.updates, "update")}` : ""} (${count(plan.owned, "owned record set")}) ${plan.deletions + plan.updates === 1 ? "has" : "have"} waited for approval for ${since(plan.at)}. Uncheck a name to exclude all its records.`),
      plan.limit ? make("p", { class: "faint" }, `${number(plan.spent ?? 0)} of at most ${count(plan.limit, "deletion")} without approval ${plan.spent === 1 ? "was" : "were"} made in the last minutes${plan.room ? `; there is room for these at ${clock(plan.room)}` : ""}.`) : null,
      this.changes, this.failed, make("div", { class: "buttons" }, this.more, this.button));
    this.read();
  }

  async read() {
    this.more.disabled = true;
    try {
      const page = await get("/plan/" + encodeURIComponent(this.plan.hash), { publisher: this.plan.publisher, offset: this.next, limit: 100 });
      this.changes.append(...(page.changes ?? []).map((c) => this.change(c)));
      this.next = page.next ?? 0;
      this.more.hidden = !this.next;
      this.failed.hidden = true;
    } catch (err) {
      this.failed.hidden = false;
      put(this.failed, err.message);
    }
    this.more.disabled = false;
  }

  change(c) {
    this.shown.push(c);
    const box = make("input", { type: "checkbox" });
    box.checked = !this.except.has(c.name);
    box.addEventListener("change", () => {
      if (box.checked) this.except.delete(c.name);
      else this.except.add(c.name);
      // A name is left out with all its types.
      for (const [other, change] of this.boxes()) if (change.name === c.name) other.checked = box.checked;
    });
    this.boxed = [...(this.boxed ?? []), [box, c]];
    return make("li", {}, make("label", {}, box, make("span", { class: "action " + (c.action === "delete" ? "delete" : "update") }, c.action), make("span", { class: "name" }, c.name), make("span", {}, c.type),
      c.setIdentifier ? make("span", { class: "faint" }, "set ", c.setIdentifier) : null,
      make("span", { class: "faint" }, difference(c))));
  }

  boxes() { return this.boxed ?? []; }

  confirm() {
    const { plan } = this, dialog = byId("confirm"), yes = byId("confirm-yes"), no = byId("confirm-no"), failed = byId("confirm-failed"), token = byId("confirm-token");
    const except = [...this.except], hidden = plan.deletions + plan.updates - this.shown.length;
    put(byId("confirm-text"), make("strong", {}, `${count(plan.deletions, "deletion")} and ${count(plan.updates, "update")}`), " will be made in zone ", make("strong", {}, zoneOf(plan)),
      except.length ? `, without ${count(except.length, "name")}: ${except.slice(0, 5).map((n) => show(n, 80)).join(", ")}${except.length > 5 ? " and others" : ""}.` : ".",
      hidden > 0 ? make("strong", {}, ` ${number(hidden)} of these changes ${hidden === 1 ? "has" : "have"} not been shown on this page.`) : null);
    put(byId("confirm-how"), `kubectl create token ACCOUNT -n NAMESPACE --audience signpost.dev/approve/${show(plan.hash, 80)}`);
    failed.hidden = true;
    yes.disabled = false;
    token.value = "";
    no.onclick = () => dialog.close();
    yes.onclick = async () => {
      // One click is one request.
      yes.disabled = true;
      try {
        this.approved(await approve(plan, except, token.value.trim()));
        token.value = "";
        dialog.close();
      } catch (err) {
        failed.hidden = false;
        put(failed, err.message);
        yes.disabled = false;
      }
    };
    dialog.showModal();
    no.focus();
  }
}
