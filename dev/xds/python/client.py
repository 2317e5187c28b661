"""The client of dev/xds in Python. Package caller has the protocol."""

import json
import sys
import threading
import time

import grpc
import grpc.experimental

SERVICE = "/signpost.dev.Echo/"


class Outcome:
    """The outcome of calls. Calls may end in any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0
        self.idle = threading.Condition(self.lock)
        self.calls = self.failed = 0
        self.by, self.errors = {}, {}
        self.first = self.shortest = self.longest = 0.0

    def begin(self):
        with self.lock:
            self.running += 1

    def end(self, call, begun):
        ms = (time.monotonic() - begun) * 1000
        error = call.code() != grpc.StatusCode.OK
        with self.lock:
            if self.calls == 0:
                self.first = self.shortest = ms
            self.calls += 1
            self.shortest = min(self.shortest, ms)
            self.longest = max(self.longest, ms)
            if error:
                self.failed += 1
                key, counts = f"{call.code().name}: {call.details()}"[:300], self.errors
            else:
                # A google.protobuf.StringValue: tag, length, text.
                key, counts = call.result()[2:].decode(), self.by
            if key in counts or len(counts) < 20:
                counts[key] = counts.get(key, 0) + 1
            self.running -= 1
            self.idle.notify_all()

    def wait(self):
        with self.lock:
            while self.running > 0:
                self.idle.wait()

    def reply(self):
        return {
            "calls": self.calls,
            "failed": self.failed,
            "by": self.by,
            "errors": self.errors,
            "firstMS": self.first,
            "shortestMS": self.shortest,
            "longestMS": self.longest,
        }


def new_channel(target, request):
    """Returns a channel. With xDS credentials, Clusters decide about TLS."""
    if not request.get("xdsCredentials"):
        return grpc.insecure_channel(target)
    plain = grpc.experimental.insecure_channel_credentials()
    return grpc.secure_channel(target, grpc.xds_channel_credentials(plain))


class Client:
    def __init__(self):
        self.channels = {}
        self.stop = None

    def begin(self, request, outcome):
        """Begins a call."""
        target = request["target"]
        if target not in self.channels:
            self.channels[target] = new_channel(target, request)
        method = self.channels[target].unary_unary(SERVICE + request["method"])
        outcome.begin()
        begun = time.monotonic()
        call = method.future(
            b"",
            timeout=request["timeoutMS"] / 1000,
            metadata=list(request.get("headers", {}).items()),
        )
        call.add_done_callback(lambda call: outcome.end(call, begun))

    def load(self, request, outcome, stop):
        due = time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            due += 1 / request["perSecond"]
            self.begin(request, outcome)

    def ask(self, request):
        if request["do"] == "stop":
            self.stop.set()
            self.thread.join()
            self.outcome.wait()
            return self.outcome.reply()
        outcome = Outcome()
        if request["do"] == "start":
            self.outcome, self.stop = outcome, threading.Event()
            self.thread = threading.Thread(
                target=self.load, args=(request, outcome, self.stop), daemon=True
            )
            self.thread.start()
            return {}
        for _ in range(request["count"]):
            self.begin(request, outcome)
            outcome.wait()
        return outcome.reply()


def main():
    client = Client()
    for line in sys.stdin:
        print(json.dumps(client.ask(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
