// The client of dev/xds in JavaScript. Package caller has the protocol.
"use strict";

const grpc = require("@grpc/grpc-js");
const xds = require("@grpc/grpc-js-xds");
xds.register();

const SERVICE = "/signpost.dev.Echo/";
const clients = new Map();

// An outcome counts calls.
function newOutcome() {
  return { running: 0, calls: 0, failed: 0, by: {}, errors: {}, firstMS: 0, shortestMS: Infinity, longestMS: 0 };
}

function count(outcome, key, counts, ms) {
  if (outcome.calls++ === 0) outcome.firstMS = ms;
  outcome.shortestMS = Math.min(outcome.shortestMS, ms);
  outcome.longestMS = Math.max(outcome.longestMS, ms);
  if (key in counts || Object.keys(counts).length < 20) counts[key] = (counts[key] || 0) + 1;
}

// With xDS credentials, Clusters decide about TLS.
function newClient(request) {
  const plain = grpc.credentials.createInsecure();
  return new grpc.Client(request.target, request.xdsCredentials ? new xds.XdsChannelCredentials(plain) : plain);
}

// call makes a call, and resolves when it has ended.
function call(request, outcome) {
  if (!clients.has(request.target)) {
    clients.set(request.target, newClient(request));
  }
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(request.headers || {})) metadata.set(key, value);
  const begun = performance.now();
  const same = (bytes) => bytes;
  outcome.running++;
  return new Promise((resolve) => {
    clients.get(request.target).makeUnaryRequest(
      SERVICE + request.method, same, same, Buffer.alloc(0), metadata, { deadline: Date.now() + request.timeoutMS },
      (err, bytes) => {
        const ms = performance.now() - begun;
        outcome.running--;
        if (err) {
          outcome.failed++;
          count(outcome, `${grpc.status[err.code]}: ${err.details}`.slice(0, 300), outcome.errors, ms);
        } else {
          // A google.protobuf.StringValue: tag, length, text.
          count(outcome, bytes.subarray(2).toString(), outcome.by, ms);
        }
        resolve();
      });
  });
}

// start makes calls at a constant rate, and returns the function that ends that.
function start(request, outcome) {
  const begun = performance.now();
  const calls = new Set();
  let made = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1000) * request.perSecond;
    for (; made < due; made++) {
      const one = call(request, outcome).then(() => calls.delete(one));
      calls.add(one);
    }
  }, 1000 / request.perSecond);
  return async () => {
    clearInterval(timer);
    await Promise.all(calls);
    return outcome;
  };
}

let stop;

async function ask(request) {
  if (request.do === "stop") return stop();
  const outcome = newOutcome();
  if (request.do === "start") {
    stop = start(request, outcome);
    return {};
  }
  for (let i = 0; i < request.count; i++) await call(request, outcome);
  return outcome;
}

async function main() {
  const lines = require("node:readline").createInterface({ input: process.stdin });
  for await (const line of lines) {
    process.stdout.write(JSON.stringify(await ask(JSON.parse(line))) + "\n");
  }
  process.exit(0);
}

main();
