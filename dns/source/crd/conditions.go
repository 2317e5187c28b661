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
	// conditionsPerSecond is how many statuses are written in a second because of conditions alone,
	// and conditionsAtOnce how many that were saved up.
	conditionsPerSecond, conditionsAtOnce = 20, 50
	// maxMessage is the most bytes of the message of a condition (the API allows 32768).
	maxMessage = 1024
)

// Report has the conditions of objects written, with what became of them. Call it after Open and
// before WriteStatus.
func (c *Config) Report(outcomes source.Outcomes) {
	if c.opened != nil {
		c.opened.outcomes = outcomes
	}
}

// conditions are what is known while statuses are written.
type conditions struct {
	outcomes source.Outcomes
	limiter  *rate.Limiter
	// pruned is true when the API server drops conditions, because the definition lacks them.
	pruned bool
	// wrote has the last write of each object, until the table has seen it or something later.
	wrote map[source.Key]wrote
}

// wrote is a write of conditions: what the table had then, and the digest of what was written.
type wrote struct {
	before *endpoint
	said   uint64
}

// said returns the digest of the conditions that an object has: those of the table, or those of a
// write that the table hasn't seen.
func (c *conditions) said(e *endpoint) uint64 {
	if c == nil {
		return e.said
	}
	if w, ok := c.wrote[e.Key]; ok && w.before == e {
		return w.said
	}
	delete(c.wrote, e.Key)
	return e.said
}

// note remembers a write.
func (c *conditions) note(e *endpoint, wanted []metav1.Condition) {
	if c != nil && len(wanted) > 0 {
		c.wrote[e.Key] = wrote{e, digest(wanted)}
	}
}

// forget forgets an object that is gone.
func (c *conditions) forget(key source.Key) {
	if c != nil {
		delete(c.wrote, key)
	}
}

// pendingAfter is how often an object is looked at again, with growing delays, before its condition
// says that something is pending: for about three seconds. Mostly it isn't by then, as after a restart.
const pendingAfter = 5

// passing reports whether conditions say what is likely to be over soon, and need not be written.
func passing(wanted []metav1.Condition, looks int) bool {
	programmed := meta.FindStatusCondition(wanted, externaldns.ConditionProgrammed)
	return programmed != nil && programmed.Reason == source.OutcomePending && looks < pendingAfter
}

func (s *endpoints) newConditions() *conditions {
	return &conditions{outcomes: s.outcomes, limiter: rate.NewLimiter(conditionsPerSecond, conditionsAtOnce), wrote: map[source.Key]wrote{}}
}

var errUnknownOutcome = errors.New("it isn't known yet what became of the object")

// wanted returns the conditions that an object should have; nil if it should keep those it has.
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

// digest identifies what our conditions among some say, without the times; 0 if there is none.
func digest(all []metav1.Condition) uint64 {
	h := fnv.New64a()
	known := false
	for _, conditionType := range []string{externaldns.ConditionAccepted, externaldns.ConditionProgrammed} {
		c := meta.FindStatusCondition(all, conditionType)
		if c == nil {
			continue
		}
		known = true
		said := *c
		said.LastTransitionTime = metav1.Time{}
		// A condition consists of texts and numbers.
		text, _ := json.Marshal(said)
		_, _ = h.Write(text)
	}
	if !known {
		return 0
	}
	return h.Sum64()
}

// setConditions sets conditions in the status of an object, and leaves others there. It reports
// whether anything has changed.
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

// conditionsOf returns the conditions of an object. What has another shape is left out.
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
