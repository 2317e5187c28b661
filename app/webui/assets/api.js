// What is asked of the process.

const root = "/api/v1alpha1";

// Failed is an answer that isn't what was asked for.
export class Failed extends Error {
  constructor(code, body) {
    super(body?.error || (code ? `the process answered ${code}` : "the process can't be reached"));
    this.code = code;
    this.leader = body?.leader;
  }
}

async function answer(request) {
  let response;
  try {
    response = await request;
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Failed(0);
  }
  let body = null;
  try {
    body = await response.json();
  } catch {
    // A body that can't be read has nothing to say.
  }
  if (!response.ok || body === null) throw new Failed(response.status, body);
  return body;
}

function urlOf(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== "" && v !== undefined && v !== 0));
  return root + path + (query.size ? "?" + query : "");
}

const ask = (url, signal) => fetch(url, { signal, cache: "no-store", credentials: "omit" });

// ahead are the requests of getAhead, by their URL. After aheadFor, in milliseconds, nobody takes them.
const ahead = new Map(), aheadFor = 5000;
let asked = false;

// getAhead asks for what get will be asked for, with the same parameters. Once get was asked for anything, it is too late:
// a later get would take an answer from before.
export function getAhead(path, parameters = {}) {
  if (asked) return;
  const url = urlOf(path, parameters), response = ask(url);
  response.catch(() => {}); // get tells of it
  ahead.set(url, response);
  setTimeout(() => ahead.delete(url), aheadFor);
}

// get asks for a path, with parameters; those that are empty are left out.
export function get(path, parameters = {}, signal = undefined) {
  asked = true;
  const url = urlOf(path, parameters), early = ahead.get(url);
  ahead.delete(url);
  return answer(early ?? ask(url, signal));
}

// approve approves a plan, without the names that are excepted. A token is sent with this request only.
export function approve(plan, except, token) {
  const publisher = plan.publisher ? "?" + new URLSearchParams({ publisher: plan.publisher }) : "";
  return answer(fetch(`${root}/plan/${encodeURIComponent(plan.hash)}/approve${publisher}`, {
    method: "POST",
    credentials: "omit",
    headers: { "Content-Type": "application/json", ...(token ? { Authorization: "Bearer " + token } : {}) },
    body: JSON.stringify({ except }),
  }));
}

// listen calls on(topic, data) for each change, and connection(up) when the connection begins and when it or an attempt
// ends. It connects again, more and more slowly. The browser's own attempts would end at an answer that isn't 200.
export function listen(on, connection) {
  let wait = 500, source = null, timer = 0;
  const stop = () => {
    clearTimeout(timer);
    source?.close();
  };
  const connect = () => {
    stop();
    const mine = source = new EventSource(root + "/changes");
    mine.onopen = () => {
      wait = 500;
      connection(true);
    };
    mine.onerror = () => { if (mine === source) later(); };
    for (const topic of ["status", "streams", "records", "plans", "problems"]) {
      mine.addEventListener(topic, (e) => on(topic, JSON.parse(e.data)));
    }
  };
  const later = () => {
    stop();
    // Pages that were cut off together don't come back together.
    timer = setTimeout(connect, wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 2, 15000);
    connection(false);
  };
  connect();
  // The server has few places for those that listen.
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (e) => { if (e.persisted) connect(); });
  return { restart: later };
}
