package crd

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// conditionsPerSecond and conditionsAtOnce (burst) limit the status writes for conditions alone.
	conditionsPerSecond, conditionsAtOnce = 20, 50
	// maxMessage limits the message of a condition in bytes (the API allows 32768).
	maxMessage = 1024
)

// Report enables conditions with the outcomes of objects. Call it after Open and before
// WriteStatus.
func (c *Config) Report(outcomes source.Outcomes) {
	if c.opened != nil {
		c.opened.outcomes = outcomes
	}
}

// conditions is the state of writing conditions.
type conditions struct {
	outcomes source.Outcomes
	limiter  *rate.Limiter
	// pruned is true if the API server drops conditions, because the definition lacks them.
	pruned bool
}

// pendingAfter is how often an object is checked again, with growing delays, before its condition becomes
// Pending: for about three seconds. After a restart, for example, most objects aren't pending any more by
// then.
const pendingAfter = 5

// transient reports whether conditions will probably be outdated soon, so that they need not be written.
func transient(wanted []metav1.Condition, looks int) bool {
	programmed := meta.FindStatusCondition(wanted, externaldns.ConditionProgrammed)
	return programmed != nil && programmed.Reason == source.OutcomePending && looks < pendingAfter
}

func (s *endpoints) newConditions() *conditions {
	return &conditions{outcomes: s.outcomes, limiter: rate.NewLimiter(conditionsPerSecond, conditionsAtOnce)}
}

var errUnknownOutcome = errors.New("the outcome of the object is not known yet")

// wanted returns the conditions that an object should have; nil if it should keep the current ones.
func (c *conditions) wanted(ctx context.Context, e *endpoint) ([]metav1.Condition, error) {
	if c == nil || c.outcomes == nil || c.pruned {
		return nil, nil
	}
	outcome, err := c.outcomes.Outcome(ctx, e.Key)
	switch {
	case err != nil:
		return nil, err
	case outcome == nil:
		return nil, errUnknownOutcome
	}
	return []metav1.Condition{
		condition(externaldns.ConditionAccepted, outcome.Accepted, e.generation),
		condition(externaldns.ConditionProgrammed, outcome.Programmed, e.generation),
	}, nil
}

func condition(conditionType string, v source.Verdict, generation int64) metav1.Condition {
	c := metav1.Condition{Type: conditionType, Status: metav1.ConditionFalse, Reason: v.Reason, Message: sanitize.Shorten(v.Message, maxMessage), ObservedGeneration: generation}
	if v.True {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// digest identifies the content of our conditions, without the times; 0 if there is none.
func digest(all []metav1.Condition) uint64 {
	h := fnv.New64a()
	known := false
	for _, conditionType := range []string{externaldns.ConditionAccepted, externaldns.ConditionProgrammed} {
		c := meta.FindStatusCondition(all, conditionType)
		if c == nil {
			continue
		}
		known = true
		stripped := *c
		stripped.LastTransitionTime = metav1.Time{}
		// A condition can always be encoded.
		text, _ := json.Marshal(stripped)
		_, _ = h.Write(text)
	}
	if !known {
		return 0
	}
	return h.Sum64()
}

// setConditions sets conditions in the status of an object, and keeps others. It reports whether
// anything has changed.
func setConditions(obj *unstructured.Unstructured, wanted []metav1.Condition) bool {
	conditions := conditionsOf(obj)
	changed := false
	for _, c := range wanted {
		changed = meta.SetStatusCondition(&conditions, c) || changed
	}
	if !changed {
		return false
	}
	list := make([]any, 0, len(conditions))
	for i := range conditions {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return false
		}
		list = append(list, fields)
	}
	fields, ok := obj.Object["status"].(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	fields["conditions"] = list
	obj.Object["status"] = fields
	return true
}

// conditionsOf returns the conditions of an object. Malformed ones are left out.
func conditionsOf(obj *unstructured.Unstructured) []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	var conditions []metav1.Condition
	for _, one := range list {
		fields, ok := one.(map[string]any)
		var c metav1.Condition
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			conditions = append(conditions, c)
		}
	}
	return conditions
}
