package destclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/golden"
)

func updates(t *testing.T, texts ...string) []*pb.Update {
	t.Helper()
	return messages[pb.Update](t, texts)
}

const (
	// 10.1.0.1:8080 to 10.1.0.3:8080 and [fd00::4]:8080.
	addTwo = `add { metric_labels { key: "service" value: "web" }
		addrs { addr { ip { ipv4: 167837698 } port: 8080 } weight: 10000
			metric_labels { key: "pod" value: "web-6d9f7c5b4d-x2x7k" } metric_labels { key: "zone" value: "east-1a" } metric_labels { key: "zone_locality" value: "local" }
			tls_identity { dns_like_identity { name: "web.emoji.serviceaccount.identity.linkerd.cluster.local" } }
			protocol_hint { h2 {} } }
		addrs { addr { ip { ipv4: 167837697 } port: 8080 } weight: 10000 } }`
	addWorkload = `add { addrs { addr { ip { ipv4: 167837699 } port: 8080 } weight: 100000
			metric_labels { key: "external_workload" value: "vm-1" } metric_labels { key: "zone" value: "" } metric_labels { key: "zone_locality" value: "unknown" }
			tls_identity { uri_like_identity { uri: "spiffe://root.test/vm-1" } server_name { name: "vm-1.test" } }
			protocol_hint { opaque {} opaque_transport { inbound_port: 4143 } } } }`
	addIPv6 = `add { addrs { addr { ip { ipv6 { first: 18230571291595767808 last: 4 } } port: 8080 } weight: 10000
			authority_override { authority_override: "web.west.test:80" } protocol_hint {} } }`
	changeFirst = `add { addrs { addr { ip { ipv4: 167837697 } port: 8080 } weight: 5 } }`
	removeTwo   = `remove { addrs { ip { ipv4: 167837698 } port: 8080 } addrs { ip { ipv4: 3221225985 } port: 1 } }`
	noEndpoints = `no_endpoints { exists: true }`
	noService   = `no_endpoints { exists: false }`
)

func TestGetOnce(t *testing.T) {
	tests := map[string]onceTest{
		"table":              {script: script{updates: updates(t, addTwo, addWorkload, addIPv6)}},
		"table-of-the-rest":  {script: script{updates: updates(t, addTwo, addWorkload, removeTwo, changeFirst)}},
		"json":               {script: script{updates: updates(t, addTwo, addIPv6, removeTwo, noEndpoints)}, output: "json"},
		"yaml":               {script: script{updates: updates(t, addTwo, addIPv6)}, output: "yaml"},
		"protojson":          {script: script{updates: updates(t, addTwo, addIPv6)}, output: "protojson"},
		"name":               {script: script{updates: updates(t, addTwo, addIPv6)}, output: "name"},
		"no-endpoints":       {script: script{updates: updates(t, noEndpoints)}},
		"no-service":         {script: script{updates: updates(t, noService)}},
		"removed-again":      {script: script{updates: updates(t, addTwo, noService, noEndpoints)}},
		"cut-off":            {script: script{updates: updates(t, addTwo), end: status.Error(codes.Unavailable, "going away")}},
		"ended-at-once":      {err: "get web.emoji.svc.cluster.local:80 from SERVER: the server ended the stream"},
		"not-found":          {script: script{end: status.Error(codes.NotFound, "Service web.emoji\n not found")}, err: "get web.emoji.svc.cluster.local:80 from SERVER: NotFound: Service web.emoji not found"},
		"unavailable":        {script: script{end: status.Error(codes.Unavailable, "not synced")}, err: "get web.emoji.svc.cluster.local:80 from SERVER: Unavailable: not synced"},
		"plain-server-error": {script: script{end: errors.New("odd")}, err: "get web.emoji.svc.cluster.local:80 from SERVER: Unknown: odd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// The scripts end the stream, so that the quiet time does not matter.
			tt.run(t, "get/"+name+".txt", question{quiet: time.Minute})
		})
	}
}

func TestGetOnceFromOpenStream(t *testing.T) {
	s := &scripted{scripts: []script{{updates: updates(t, addTwo), holds: true}}}
	var out bytes.Buffer
	q := question{Options: Options{Timeout: time.Minute}, quiet: time.Millisecond, out: &out}
	if _, err := q.ask(t.Context(), t, s.serve(t)); err != nil {
		t.Error(err)
	}
	golden.Check(t, "get/open-stream.txt", out.String())
}

func TestGetOnceTimesOut(t *testing.T) {
	s := &scripted{scripts: []script{{holds: true}}}
	q := question{Options: Options{Timeout: 20 * time.Millisecond}, quiet: time.Minute, out: io.Discard}
	_, err := q.ask(t.Context(), t, s.serve(t))
	want := "get web.emoji.svc.cluster.local:80 from SERVER: DeadlineExceeded: no response within 20ms: check the address, or set a longer --timeout"
	if got := messageOf(err); got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestGetOnceInterrupted(t *testing.T) {
	s := &scripted{scripts: []script{{holds: true}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := question{Options: Options{Timeout: time.Minute}, quiet: time.Minute, out: io.Discard}
	if _, err := q.ask(ctx, t, s.serve(t)); err != nil {
		t.Errorf("interrupted: %v, want no error", err)
	}
}

func TestGetWatch(t *testing.T) {
	goingAway := status.Error(codes.Unavailable, "going away")
	invalid := status.Error(codes.InvalidArgument, "no such port")
	all := updates(t, addTwo, addWorkload, addIPv6, changeFirst, changeFirst, removeTwo, noEndpoints, addWorkload)
	tests := map[string]watchTest{
		"watch":      {scripts: []script{{updates: all, holds: true}}, text: "+     1  10.1.0.3"},
		"watch-json": {scripts: []script{{updates: all[:6], holds: true}}, output: "json", text: `"remove"`},
		"watch-reconnects": {
			scripts: []script{{updates: updates(t, addTwo), end: goingAway}, {end: goingAway}, {}, {updates: updates(t, changeFirst, addWorkload), holds: true}},
			text:    "vm-1",
		},
		"watch-gives-up": {
			scripts: []script{{updates: updates(t, noService), end: invalid}},
			err:     "get web.emoji.svc.cluster.local:80 from SERVER: InvalidArgument: no such port",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.run(t, "get/"+name+".txt", question{})
		})
	}
}

func TestGetWatchWaitsOnlyUntilInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &scripted{scripts: []script{{}}}
	q := question{Options: Options{Watch: true}, out: io.Discard, backoff: func(int) time.Duration {
		cancel()
		return time.Hour
	}}
	if _, err := q.ask(ctx, t, s.serve(t)); err != nil {
		t.Errorf("interrupted: %v, want no error", err)
	}
}

func TestGetReportsOutputErrors(t *testing.T) {
	checkOutputErrors(t, "get", question{quiet: time.Millisecond}, script{updates: updates(t, addTwo), holds: true})
}
