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

// lines returns the lines of the log without the time.
func (f *fixture) lines() []string {
	text := regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(f.log.String(), "")
	return strings.Split(strings.TrimSpace(text), "\n")
}

// debug sets the log level to debug.
func (f *fixture) debug() { f.level.Set(slog.LevelDebug) }

// At debug, the log has the client of each call, each response with its numbers, and the end of the call.
func TestCallLogOfGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := at("10.0.0.1", catalog.WorkloadKey{}), at("10.0.0.2", catalog.WorkloadKey{})
		f := start(t, testConfig(), service("web"), slice("s", a, b))
		f.debug()
		c := f.get(getPath, `{"ns":"shop","nodeName":"n1","pod":"cart-0"}`)
		f.settle()
		f.change(put(slice("s", a)))
		f.change(nil, service("web").ID())
		c.cancel()
		f.settle()
		const call = `level=DEBUG msg="%" call=1 method=Get path=web.ns.svc.mycluster.local:80 `
		of := func(message string) string { return strings.Replace(call, "%", message, 1) }
		want := []string{
			of("Call started") + `client=bufconn namespace=shop pod=cart-0 node=n1`,
			of("Response sent") + `endpoints=2 added=2 removed=0 exists=true version=0`,
			of("Response sent") + `endpoints=1 added=0 removed=1 exists=true version=1`,
			of("Response sent") + `endpoints=0 added=0 removed=1 exists=false version=2`,
			of("Call ended") + `status=OK reason="the client disconnected" messages=3 added=2 removed=2 lasted=3s`,
		}
		if diff := cmp.Diff(want, f.lines()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestCallLogOfGetProfile(t *testing.T) {
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
		f.settle()
		want := []string{
			`level=DEBUG msg="Call started" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 client=bufconn namespace=shop pod="" node=""`,
			`level=DEBUG msg="Response sent" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 subject=service bytes=N version=0`,
			`level=DEBUG msg="Call ended" call=1 method=GetProfile path=web.ns.svc.mycluster.local:80 status=OK reason="the client disconnected" messages=1 added=0 removed=0 lasted=0s`,
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

// Refused calls, and calls that the server ends, are logged with the reason.
func TestCallLogHasReasonOfEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.debug()
		f.get("none.ns.svc.mycluster.local:80", "")
		f.settle()
		f.get("10.0.0.1:80", "")
		f.settle()
		f.get(getPath, "")
		f.settle()
		f.end()
		f.settle()
		text := f.log.String()
		for _, want := range []string{
			`path=none.ns.svc.mycluster.local:80 status=NotFound reason="service none.ns not found" messages=0`,
			`path=10.0.0.1:80 status=InvalidArgument reason="invalid authority \"10.0.0.1:80\": Get looks names up`,
			`path=web.ns.svc.mycluster.local:80 status=OK reason="the server is stopping" messages=1`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no line has %s in\n%s", want, text)
			}
		}
	})
}

// Text of clients is cut in the log and can't forge a line. An invalid token is not logged, because it may be
// a credential.
func TestCallLogBoundsTextOfClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"))
		f.debug()
		const secret = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0.sEcReT"
		f.get("a\nlevel=ERROR msg=forged"+strings.Repeat("x", 4000), secret)
		f.get(getPath, `{"ns":"`+strings.Repeat("n", 5000)+`"}`)
		f.get(getPath, `{"ns":"shop","pod":"`+strings.Repeat("p", 5000)+`"}`)
		f.get(getPath, `{"ns":"shop","pod":"a\nlevel=ERROR","token":"`+secret+`"}`)
		f.settle()
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

// At info, successful calls are not logged and have no callLog, which costs nothing.
func TestNoCallLogAtInfo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, testConfig(), service("web"), slice("s", at("10.0.0.1", catalog.WorkloadKey{})))
		f.get(getPath, `{"ns":"shop"}`)
		f.get("none.ns.svc.mycluster.local:80", "")
		f.settle()
		if text := f.log.String(); text != "" {
			t.Errorf("log:\n%s", text)
		}
		s, r := f.server, &pb.GetDestination{Path: getPath, ContextToken: `{"ns":"shop","pod":"p"}`}
		message, a := newFrame(nil), &response{}
		if n := testing.AllocsPerRun(100, func() {
			allocations := s.newCallLog(t.Context(), methodGet, r)
			allocations.sent(message)
			allocations.responseSent(a)
			allocations.end(t.Context(), nil)
		}); n > 0 {
			t.Errorf("%v allocations for a call without a callLog", n)
		}
	})
}
