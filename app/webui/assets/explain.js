// The search box, which explains.

import { get } from "./api.js";
import { byId, longestOpen, make, objectText, put, show, state } from "./dom.js";
import { past } from "./history.js";

const words = { well: "Nothing is wrong", unknown: "Not known", wrong: "Something is wrong" };
let asking = null;

const text = (kind, of, most = longestOpen) => {
  const e = make("div", { class: kind });
  e.textContent = show(of, most);
  return e;
};

// explain asks about a text and shows what comes back. Empty text closes the answer.
export async function explain(q, ask) {
  asking?.abort();
  const answer = byId("answer"), verdict = byId("verdict"), steps = byId("steps");
  if (!q) {
    answer.hidden = true;
    return;
  }
  asking = new AbortController();
  const { signal } = asking;
  answer.hidden = false;
  answer.className = "answer";
  answer.setAttribute("aria-busy", "true");
  put(steps);
  past(byId("past"), q, ask);
  put(verdict, text("faint", "Looking…"));
  try {
    const e = await get("/explain", { q }, signal);
    answer.className = "answer is-" + (words[e.verdict] ? e.verdict : "unknown");
    put(verdict, make("h2", {}, state(e.verdict), make("span", { class: "subject" }, e.subject)), make("p", { class: "faint" }, words[e.verdict] ?? ""), text("summary", e.summary));
    // An object and a role are named where they change.
    let before = { role: "", name: "" };
    put(steps, ...(e.steps ?? []).map((s) => {
      const li = step(s, before, ask);
      before = { role: s.role, name: s.object ? objectText(s.object) : before.name };
      return li;
    }));
  } catch (err) {
    if (signal.aborted) return;
    answer.className = "answer is-unknown";
    put(verdict, make("h2", {}, state("unknown"), make("span", { class: "subject" }, q)), text("summary", err.message));
  }
  answer.setAttribute("aria-busy", "false");
}

function step(s, before, ask) {
  const li = make("li", { class: "step is-" + (["well", "note", "unknown", "wrong"].includes(s.state) ? s.state : "unknown") },
    make("div", { class: "what" }, state(s.state), make("strong", {}, s.what), s.role === before.role ? null : make("span", { class: "faint" }, s.role)),
    text("said", s.text));
  if (s.object && objectText(s.object) !== before.name) {
    const name = objectText(s.object);
    li.append(make("div", {}, make("button", { class: "link", type: "button", click: () => ask(name) }, name)));
  }
  if (s.more?.length) {
    const more = make("details", {}, make("summary", {}, `${s.more.length} more ${s.more.length === 1 ? "line" : "lines"}`), make("ul", {}, ...s.more.map((m) => make("li", {}, text("", m, 300)))));
    more.open = s.state === "wrong" || s.more.length <= 5;
    li.append(more);
  }
  return li;
}
