// The changes of the last hour behind a name, as `signpost history` has them for this process.

import { clock, count, longestOpen, make, number, put, show, state } from "./dom.js";
import { get } from "./api.js";

// most is how many changes are shown.
const most = 60;

// looks are the states that changes are shown with.
const looks = { created: "note", updated: "note", deleted: "deleted", failed: "failed", external: "warning" };

const what = (c) => (c.kind === "told" ? `told ${count(c.streams ?? 0, "stream")}` : c.kind === "record" ? c.zone || "record" : "write");

function text(kind, of) {
  const e = make("div", { class: kind });
  e.textContent = show(of, longestOpen / 3);
  return e;
}

// line is one change. A subject that isn't the question can be asked about.
function line(c, q, ask) {
  const subject = c.subject === q ? null : make("button", { class: "link", type: "button", click: () => ask(c.subject) }, c.subject);
  const time = make("time", {}, clock(c.at));
  time.dateTime = c.at;
  return make("li", {}, time, make("div", {}, state(looks[c.action] === "note" ? c.action : looks[c.action] ?? "unknown"), " ", subject, " ", make("span", { class: "faint" }, what(c)),
    text("said", c.text), c.why ? text("faint", c.why) : null));
}

// past makes a closed <details> read the changes about q each time when it is opened.
export function past(details, q, ask) {
  const note = details.querySelector("p"), list = details.querySelector("ol");
  const say = (words) => { note.textContent = words; };
  const read = async () => {
    put(list);
    say("Reading…");
    try {
      const h = await get("/history", { q, limit: most });
      if (details.ontoggle !== opened) return; // another question was asked
      const all = (h.changes ?? []).toReversed();
      put(list, ...all.map((c) => line(c, q, ask)));
      say(all.length === 0 ? "Nothing changed in this process." : h.total > all.length ? `The newest ${number(all.length)} of ${number(h.total)} changes in this process, the newest first.` : `${count(all.length, "change")} in this process, the newest first.`);
    } catch (err) {
      if (details.ontoggle === opened) say(err.message);
    }
  };
  const opened = () => { if (details.open) read(); };
  details.ontoggle = opened;
  if (details.open) read();
}
