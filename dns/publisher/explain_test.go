package publisher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// explaining returns a fixture whose source explains why objects ask for nothing. n is the number
// of objects without a name.
func explaining(t *testing.T, w *fixture, n int) {
	t.Helper()
	keys := []source.Key{{Namespace: "default", Name: "good"}, {Namespace: "default", Name: "far"}, {Namespace: "default", Name: "typo"}, {Namespace: "default", Name: "broken"}}
	for i := range n {
		keys = append(keys, source.Key{Namespace: "default", Name: fmt.Sprintf("plain-%04d", i)})
	}
	w.objects.set("good", record(t, "good", "good.shop.test", "A", "192.0.2.1"))
	w.objects.set("far", record(t, "far", "far.other.test", "A", "192.0.2.1"))
	w.objects.fail("broken", errors.New("unreadable"))
	w.change = func(c *Config) {
		c.Domains = dns.NewDomainFilter([]string{zoneName}, nil)
		c.Sources[0].Keys = func() []source.Key { return keys }
		evaluate := c.Sources[0].Evaluate
		c.Sources[0].Evaluate = func(key source.Key) source.Result {
			result := evaluate(key)
			switch {
			case key.Name == "typo":
				result.Skipped = []source.Skip{{Reason: source.SkipUnknownAnnotation, Subject: "hostnme", Message: "did you mean hostname?"}}
			case strings.HasPrefix(key.Name, "plain"):
				result.Skipped = []source.Skip{{Reason: source.SkipNoHostname, Message: "it has no name"}}
			}
			return result
		}
	}
}

// text writes explanations as one line each.
func text(e Explanations) string {
	var lines []string
	for _, one := range e.List {
		line := one.Object.Name + ":"
		for _, r := range one.Records {
			line += " gives " + r.Name
		}
		for _, s := range one.Skipped {
			line += " " + string(s.Reason)
		}
		for _, d := range one.Dropped {
			line += " " + string(d.Reason) + " " + d.Setting
		}
		if one.Err != nil {
			line += " " + one.Err.Error()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ") + fmt.Sprintf(" and %d more", e.More)
}

// TestExplain shows that Explain returns why each object gets no record, likely mistakes first,
// while the loop runs and after it has ended.
func TestExplain(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		explaining(t, w, 2)
		w.start()
		waitIdle()
		for _, when := range []string{"while the loop runs", "after its end"} {
			if when != "while the loop runs" {
				w.stop()
			}
			for _, test := range []struct {
				q    ExplainQuery
				want string
			}{
				{q: ExplainQuery{}, want: "broken: unreadable; far: NameFiltered --domain-filter; typo: UnknownAnnotation; good: gives good.shop.test; plain-0000: NoHostname; plain-0001: NoHostname and 0 more"},
				{q: ExplainQuery{OnlyIncomplete: true, Limit: 4}, want: "broken: unreadable; far: NameFiltered --domain-filter; typo: UnknownAnnotation; plain-0000: NoHostname and 1 more"},
				{q: ExplainQuery{OnlyIncomplete: true, Limit: 2}, want: "broken: unreadable; far: NameFiltered --domain-filter and 3 more"},
				{q: ExplainQuery{Selects: func(_ string, key source.Key) bool { return key.Name == "typo" }}, want: "typo: UnknownAnnotation and 0 more"},
			} {
				got, err := w.publisher.Explain(t.Context(), test.q)
				if err != nil || text(got) != test.want {
					t.Errorf("%s, %+v: %s, %v, want %s", when, test.q, text(got), err, test.want)
				}
			}
		}
	})
}

// TestExplainAbuse shows that very many objects give a result of limited length, and that ctx ends
// the wait.
func TestExplainAbuse(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		explaining(t, w, 20_000)
		w.start()
		waitIdle()
		got, err := w.publisher.Explain(t.Context(), ExplainQuery{OnlyIncomplete: true})
		if err != nil || len(got.List) != DefaultExplanations || got.More != 20_003-DefaultExplanations {
			t.Errorf("%d explanations and %d more, %v", len(got.List), got.More, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.publisher.Explain(ctx, ExplainQuery{}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error of a canceled query is %v", err)
		}
	})
}

// The explanation says that default targets don't apply to an object without a target (dns F18).
func TestExplainDefaultTargets(t *testing.T) {
	const without = "it has no address"
	for _, test := range []struct {
		defaults []string
		want     string
	}{
		{want: without},
		{defaults: []string{"192.0.2.9"}, want: without + " (--default-targets is not for objects of this source that have no address)"},
	} {
		withFixture(t, func(t *testing.T, w *fixture) {
			w.change = func(c *Config) {
				c.Desired = desiredOf(t, desired.Options{Sources: []string{"service"}, DefaultTargets: test.defaults})
				c.Sources[0].Keys = func() []source.Key { return []source.Key{{Namespace: "default", Name: "pending"}} }
				c.Sources[0].Evaluate = func(source.Key) source.Result {
					return source.Result{Skipped: []source.Skip{{Reason: source.SkipNoTarget, Subject: "a.shop.test", Message: without}}}
				}
			}
			w.start()
			waitIdle()
			got, err := w.publisher.Explain(t.Context(), ExplainQuery{})
			if err != nil || len(got.List) != 1 || len(got.List[0].Skipped) != 1 || got.List[0].Skipped[0].Message != test.want {
				t.Errorf("with the default targets %q: %+v, %v; want %q", test.defaults, got, err, test.want)
			}
		})
	}
}
