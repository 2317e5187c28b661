// Plans that wait for approval, and how they get it.

import { approve, get } from "./api.js";
import { age, byId, clock, count, make, number, put, say, show, state } from "./dom.js";

const zoneOf = (p) => p.zone + (p.publisher ? ` (publisher ${p.publisher})` : "");

// placeOf identifies the zone of a plan, and keyOf the plan, among those of all publishers.
const placeOf = (p) => JSON.stringify([p.publisher ?? "", p.zone, p.zoneId ?? ""]);
const keyOf = (p) => placeOf(p) + p.hash;

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
    this.none = make("p", { class: "faint" });
  }

  mount() { put(this.panel, this.done, this.none, this.list); }

  // show shows the plans. unknown says why they can't be known now, and is empty if they are. A plan that replaces another
  // one of its zone takes over what is excepted there.
  show(plans, unknown) {
    say(this.none, unknown || "No deletions wait for approval.");
    this.none.hidden = plans.length > 0 && !unknown;
    const before = new Map([...this.cards.values()].map((card) => [placeOf(card.plan), card.except]));
    const next = new Map(plans.map((p) => [keyOf(p), this.cards.get(keyOf(p)) ?? new Card(p, (a) => this.approved(a), before.get(placeOf(p)))]));
    for (const p of plans) next.get(keyOf(p)).update(p);
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
  constructor(plan, approved, except) {
    this.plan = plan;
    this.approved = approved;
    this.except = new Set(except);
    this.shown = [];
    this.next = 0;
    this.budget = make("p", { class: "faint" });
    this.changes = make("ul", { class: "changes" });
    this.more = make("button", { type: "button", click: () => this.read() }, "Show more");
    this.button = make("button", { type: "button", class: "danger", click: () => this.confirm() }, "Approve…");
    this.failed = make("p", { class: "notice wrong", role: "alert" });
    this.failed.hidden = true;
    this.element = make("article", { class: "plan", label: "Plan of " + show(plan.zone) },
      make("div", { class: "plan-head" }, state("held"), make("h3", {}, plan.zone), plan.publisher ? make("span", { class: "faint" }, "publisher ", plan.publisher) : null, make("code", {}, plan.hash)),
      make("p", {}, `${count(plan.deletions, "deletion")}${plan.updates ? ` and ${count(plan.updates, "update")}` : ""} (${count(plan.owned, "owned record set")}) ${plan.deletions + plan.updates === 1 ? "has" : "have"} waited for approval for `, age(plan.at), ". Uncheck a name to exclude all its records."),
      this.budget, this.changes, this.failed, make("div", { class: "buttons" }, this.more, this.button));
    this.read();
  }

  // update shows what changes while a plan is held: the budget of its zone.
  update(plan) {
    this.plan = plan;
    this.budget.hidden = !plan.limit;
    say(this.budget, `${number(plan.spent ?? 0)} of at most ${count(plan.limit ?? 0, "deletion")} without approval ${plan.spent === 1 ? "was" : "were"} made in the last minutes${plan.room ? `; there is room for these at ${clock(plan.room)}` : ""}.`);
  }

  async read() {
    this.more.disabled = true;
    try {
      const page = await get("/plan/" + encodeURIComponent(this.plan.hash), { publisher: this.plan.publisher, offset: this.next, limit: 100 });
      this.changes.append(...(page.changes ?? []).map((c) => this.change(c)));
      this.next = page.next ?? 0;
      this.more.hidden = !this.next;
      if (!this.next) this.forget();
      this.failed.hidden = true;
    } catch (err) {
      this.failed.hidden = false;
      put(this.failed, err.message);
    }
    this.more.disabled = false;
  }

  // forget forgets the exceptions that another plan had and this one, of which all is shown, has not.
  forget() {
    const names = new Set(this.shown.map((c) => c.name));
    for (const name of this.except) if (!names.has(name)) this.except.delete(name);
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
    const kept = this.shown.filter((c) => this.except.has(c.name)), deletions = kept.filter((c) => c.action === "delete").length;
    const made = `${count(plan.deletions - deletions, "deletion")} and ${count(plan.updates - (kept.length - deletions), "update")}`;
    put(byId("confirm-text"), make("strong", {}, made), " will be made in zone ", make("strong", {}, zoneOf(plan)),
      except.length ? `, without ${count(except.length, "name")}: ${except.slice(0, 5).map((n) => show(n, 80)).join(", ")}${except.length > 5 ? " and others" : ""}.` : ".",
      hidden > 0 ? make("strong", {}, ` ${number(hidden)} of these changes ${hidden === 1 ? "has" : "have"} not been shown on this page.`) : null);
    put(byId("confirm-how"), `kubectl create token ACCOUNT -n NAMESPACE --audience signpost.dev/approve/${show(plan.hash, 80)}`);
    failed.hidden = true;
    yes.disabled = false;
    dialog.onclose = () => { token.value = ""; };
    no.onclick = () => dialog.close();
    yes.onclick = async () => {
      // One click is one request.
      yes.disabled = true;
      try {
        this.approved(await approve(plan, except, token.value.trim()));
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
