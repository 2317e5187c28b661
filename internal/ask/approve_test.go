package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/settings"
)

const planHash = "0123456789abcdef"

// planDesk holds one plan.
type planDesk struct{ except []string }

func (d *planDesk) Plans() []budget.Plan {
	return []budget.Plan{{Zone: dns.Zone{Name: "shop.test"}, Hash: planHash}}
}

func (d *planDesk) Approve(_ context.Context, hash string, except []string) (budget.Approval, error) {
	if hash != planHash {
		return budget.Approval{}, budget.ErrUnknownPlan
	}
	d.except = except
	return budget.Approval{Zone: dns.Zone{Name: "shop.test"}, Deletions: 12, Excepted: len(except), Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, nil
}

func adminServer(t *testing.T, handlers map[string]http.Handler) (addr string) {
	t.Helper()
	mux := http.NewServeMux()
	for path, handler := range handlers {
		mux.Handle(path, handler)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func approve(t *testing.T, o ApproveOptions) (string, error) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	var out strings.Builder
	err := Approve(t.Context(), o, &out)
	return out.String(), err
}

func TestApprove(t *testing.T) {
	d := &planDesk{}
	addr := adminServer(t, inspect.Plans([]inspect.Publisher{{Name: "inside", Desk: d}}, func() (bool, string) { return true, "" }))
	got, err := approve(t, ApproveOptions{Addr: addr, Hash: planHash, Except: []string{"a.shop.test"}})
	want := "approved in the zone shop.test of the publisher \"inside\": deletions 12, updates 0\nleft out, and still held under another hash: 1\n" +
		"good until 2026-01-02T03:04:05Z for what can't be made at once\n"
	if err != nil || got != want || fmt.Sprint(d.except) != "[a.shop.test]" {
		t.Errorf("%v, except %q, got:\n%s", err, d.except, got)
	}
}

// Whatever goes wrong, the error says what it is and what to do.
func TestApproveErrors(t *testing.T) {
	plans := func(leadership inspect.Leadership) map[string]http.Handler {
		return inspect.Plans([]inspect.Publisher{{Desk: &planDesk{}}}, leadership)
	}
	leads := adminServer(t, plans(func() (bool, string) { return true, "" }))
	follows := adminServer(t, plans(func() (bool, string) { return false, "signpost-1" }))
	idle := adminServer(t, inspect.Plans(nil, func() (bool, string) { return true, "" }))
	none := adminServer(t, nil)
	text := adminServer(t, map[string]http.Handler{"/": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })})
	elsewhere := adminServer(t, map[string]http.Handler{"/": http.RedirectHandler("http://"+leads+inspect.ApprovePath(planHash), http.StatusTemporaryRedirect)})
	for name, test := range map[string]struct {
		o     ApproveOptions
		want  string
		usage bool
	}{
		"unknown hash":     {o: ApproveOptions{Addr: leads, Hash: "00000000000000ff"}, want: "such as " + planHash},
		"nothing is held":  {o: ApproveOptions{Addr: idle, Hash: planHash}, want: "nothing is held"},
		"not the leader":   {o: ApproveOptions{Addr: follows, Hash: planHash}, want: "ask the leader, signpost-1"},
		"no server":        {o: ApproveOptions{Addr: "127.0.0.1:1", Hash: planHash}, want: "--addr"},
		"another server":   {o: ApproveOptions{Addr: none, Hash: planHash}, want: "404 Not Found: give the address"},
		"another answer":   {o: ApproveOptions{Addr: text, Hash: planHash}, want: "of this version"},
		"a redirect":       {o: ApproveOptions{Addr: elsewhere, Hash: planHash}, want: "307"},
		"a wrong address":  {o: ApproveOptions{Addr: "local host", Hash: planHash}, want: "--addr=local host", usage: true},
		"no hash":          {o: ApproveOptions{Addr: leads, Hash: "../x"}, want: "is no hash", usage: true},
		"no time":          {o: ApproveOptions{Addr: leads, Hash: planHash, Timeout: -1}, want: "--timeout", usage: true},
		"many exceptions":  {o: ApproveOptions{Addr: leads, Hash: planHash, Except: make([]string, inspect.MaxExcept+1)}, want: "--except", usage: true},
		"a long exception": {o: ApproveOptions{Addr: leads, Hash: planHash, Except: []string{strings.Repeat("a", 1000)}}, want: "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := approve(t, test.o)
			if err == nil || !strings.Contains(err.Error(), test.want) || out != "" {
				t.Errorf("%v, output %q; want %q", err, out, test.want)
			}
			if usage := new(settings.UsageError); errors.As(err, &usage) != test.usage {
				t.Errorf("%v: a mistake in the arguments: %v", err, !test.usage)
			}
		})
	}
}
