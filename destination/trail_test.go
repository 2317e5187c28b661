package destination

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
)

// lines returns what the log has, without the time.
func (f *fixture) lines() []string {
	text := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(f.log.String(), "")
	return strings.Split(strings.TrimSpace(text), "\n")
}

// debug lets the log have everything.
func (f *fixture) debug() { f.level.Set(slog.LevelDebug) }

// At debug, the log has who asks for what, each answer with its numbers, and the end of the call.
func TestTrailOfGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := at("10.0.0.1", catalog.WorkloadKey{}), at("10.0.0.2", catalog.WorkloadKey{})
		f := start(t, testConfig(), service("web"), slice("s", a, b))
		f.debug()
		c := f.get(getPath, `{"ns":"shop","nodeName":"n1","pod":"cart-0"}`)
		f.rest()
		f.change(put(slice("s", a)))
		f.change(nil, service("web").ID())
		c.cancel()
		f.rest()
		const call = `level=DEBUG msg="%" call=1 method=Get path=web.ns.svc.mycluster.local:80 `
		of := func(message string) string { return strings.Replace(call, "%", message, 1) }
		want := []string{
			of("Call begins") + `client=bufconn namespace=shop pod=cart-0 node=n1`,
			of("Answer is sent") + `endpoints=2 added=2 removed=0 exists=true version=0`,
			of("Answer is sent") + `endpoints=1 added=0 removed=1 exists=true version=1`,
			of("Answer is sent") + `endpoints=0 added=0 removed=1 exists=false version=2`,
			of("Call ends") + `status=OK reason="the client has left" messages=3 added=2 removed=2 lasted=3s`,
		}
		if diff := cmp.Diff(want, f.lines()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestTrailOfGetProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.debug()
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := pb.NewDestinationClient(f.conn).GetProfile(ctx, &pb.GetDestination{Path: getPath, ContextToken: "ns:shop"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
		f.rest()
		want := []string{
			`level=DEBUG msg="Call begins" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 client=bufconn namespace=shop pod="" node=""`,
			`level=DEBUG msg="Answer is sent" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 subject=service bytes=N version=0`,
			`level=DEBUG msg="Call ends" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 status=OK reason="the client has left" messages=1 added=0 removed=0 lasted=0s`,
		}
		got := f.lines()
		for i := range got {
			got[i] = regexp.MustCompile(`bytes=\d+`).ReplaceAllString(got[i], "bytes=N")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// Questions that are refused leave a trail, and one that the server ends.
func TestTrailSaysWhyCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.debug()
		f.get("none.ns.svc.mycluster.local:80", "")
		f.rest()
		f.get("10.0.0.1:80", "")
		f.rest()
		f.get(getPath, "")
		f.rest()
		f.end()
		f.rest()
		text := f.log.String()
		for _, want := range []string{
			`path=none.ns.svc.mycluster.local:80 status=NotFound reason="service none.ns not found" messages=0`,
			`path=10.0.0.1:80 status=InvalidArgument reason="invalid authority \"10.0.0.1:80\": Get looks names up`,
			`path=web.ns.svc.mycluster.local:80 status=OK reason="the server stops" messages=1`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no line has %s in\n%s", want, text)
			}
		}
	})
}

// What clients send can't fill the log with one line, nor look like another line; and of a token that can't
// be used nothing is shown: it may be a credential.
func TestTrailBoundsTextOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.debug()
		const secret = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.sEcReT"
		f.get("a\nlevel=ERROR msg=forged"+strings.Repeat("x", 4000), secret)
		f.get(getPath, `{"ns":"`+strings.Repeat("n", 5000)+`"}`)
		f.get(getPath, `{"ns":"shop","pod":"`+strings.Repeat("p", 5000)+`"}`)
		f.get(getPath, `{"ns":"shop","pod":"a\nlevel=ERROR","token":"`+secret+`"}`)
		f.rest()
		text := f.log.String()
		if strings.Contains(text, secret) {
			t.Errorf("the log has what a client sent as its token:\n%s", text)
		}
		for line := range strings.Lines(text) {
			if len(line) > 1200 || !strings.HasPrefix(line, "time=") || strings.Contains(line, " level=ERROR") && !strings.Contains(line, `\nlevel=ERROR`) {
				t.Errorf("%d bytes: %.300s", len(line), line)
			}
		}
		if !strings.Contains(text, `(4024 bytes)`) || !strings.Contains(text, `(5000 bytes)`) {
			t.Errorf("the log doesn't say how long texts were:\n%.3000s", text)
		}
	})
}

// At info nothing is said of what works, and a call has no trail, which costs nothing.
func TestNoTrailAtInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"), slice("s", at("10.0.0.1", catalog.WorkloadKey{})))
		f.get(getPath, `{"ns":"shop"}`)
		f.get("none.ns.svc.mycluster.local:80", "")
		f.rest()
		if text := f.log.String(); text != "" {
			t.Errorf("log:\n%s", text)
		}
		s, r := f.server, &pb.GetDestination{Path: getPath, ContextToken: `{"ns":"shop","pod":"p"}`}
		message, a := newFrame(nil), &response{}
		if n := testing.AllocsPerRun(100, func() {
			trail := s.newTrail(t.Context(), methodGet, r)
			trail.sent(message)
			trail.answered(a)
			trail.end(t.Context(), nil)
		}); n > 0 {
			t.Errorf("%v allocations for a call without a trail", n)
		}
	})
}
