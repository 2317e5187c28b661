package observe

import (
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// evaluator evaluates alerts over a storage, as Prometheus does.
type evaluator struct {
	query rules.QueryFunc
	rules map[string]*rules.AlertingRule
	fired map[string]string // the first alert that fired of each rule, with its labels
}

func newEvaluator(t *testing.T, s storage.Queryable, alerts []rulefmt.Rule) *evaluator {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1e6)
	e := &evaluator{rules.EngineQueryFunc(engine, s), map[string]*rules.AlertingRule{}, map[string]string{}}
	for _, a := range alerts {
		expr, err := promql.ParseExpr(a.Expr)
		if err != nil {
			t.Fatalf("%s: %v", a.Alert, err)
		}
		e.rules[a.Alert] = rules.NewAlertingRule(a.Alert, expr, time.Duration(a.For), 0, labels.FromMap(a.Labels), labels.FromMap(a.Annotations),
			labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	}
	return e
}

// at evaluates all alerts for a time. Times go forward.
func (e *evaluator) at(t *testing.T, when time.Time) {
	t.Helper()
	for name, rule := range e.rules {
		if _, err := rule.Eval(t.Context(), 0, when, e.query, &url.URL{}, 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, a := range rule.ActiveAlerts() {
			if a.State == rules.StateFiring && e.fired[name] == "" {
				e.fired[name] = a.Annotations.Get("summary") + " " + a.Labels.String()
			}
		}
	}
}

// names returns the alerts that have fired.
func (e *evaluator) names() []string { return slices.Sorted(maps.Keys(e.fired)) }
