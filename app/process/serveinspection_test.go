package process

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/ownsocket"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/linked"
)

// inspected is a process with a role that can be inspected.
func inspectedProcess(t *testing.T) process {
	t.Helper()
	p, err := joinRoles(roleInput{}, []role{{
		Name: "dns", Actors: func(<-chan struct{}) []run.Actor { return nil }, Details: func() []string { return []string{"leader: signpost-1 by lease dns/signpost"} },
		Clusters: func() []linked.Status { return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.Actors = append(p.Actors, waiting())
	return p
}

// The inspection API and the web page can have their own address; metrics and probes stay at the
// admin server (tenants S10).
func TestInspectionApart(t *testing.T) {
	s := serve(t, inspectedProcess(t), func(p *settings.Process) { p.InspectAddr = "127.0.0.1:0" })
	inspection := s
	inspection.admin = s.inspection
	for path, want := range map[string][2]int{ // on the admin server, on that of the inspection API
		"/ping":            {200, 404},
		"/healthz":         {200, 404},
		"/metrics":         {200, 200},
		"/ready":           {200, 200},
		inspect.StatusPath: {404, 200},
		inspect.PlanPath:   {404, 404},
		"/clusters":        {404, 200},
		"/":                {404, 200},
		"/assets/app.js":   {404, 200},
	} {
		for i, from := range []served{s, inspection} {
			if code, body := from.fetch(t, path); code != want[i] {
				t.Errorf("%s: %d %.100s, want %d", path, code, body, want[i])
			}
		}
	}
	s.stop(t)
}

// tenants, finding 20: details of /ready and linked clusters are for those who may read the inspection API.
func TestDetailsNeedAccess(t *testing.T) {
	s := serve(t, inspectedProcess(t), func(p *settings.Process) { p.TrustLoopback = false })
	if code, body := s.fetch(t, "/ready"); code != 200 || body != "ok\n" {
		t.Errorf("/ready: %d %q", code, body)
	}
	for _, path := range []string{"/clusters", inspect.StatusPath, "/"} {
		if code, body := s.fetch(t, path); code != 403 {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	s.stop(t)
	s = serve(t, inspectedProcess(t), nil)
	if code, body := s.fetch(t, "/ready"); code != 200 || !strings.Contains(body, "signpost-1 by lease") {
		t.Errorf("/ready of a client that may have the details: %d %q", code, body)
	}
	s.stop(t)
}

// A command of our own user in the same container needs neither a token nor a loopback address
// (tenants S4).
func TestOwnUserNeedsNoToken(t *testing.T) {
	s := serve(t, inspectedProcess(t), func(p *settings.Process) { p.TrustLoopback, p.InspectAddr = false, "127.0.0.1:0" })
	for _, addr := range []string{s.admin, s.inspection} {
		_, text, err := net.SplitHostPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ownsocket.Dial(ctx, port)
		}}}
		response, err := client.Get("http://" + addr + inspect.StatusPath)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != 200 {
			t.Errorf("%s: %d", addr, response.StatusCode)
		}
	}
	s.stop(t)
}
