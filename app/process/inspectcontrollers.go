package process

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/reconcile"
)

// waitExplainer says whether the controllers fail to write the slices of a Service. It implements
// [inspect.Explainer].
type waitExplainer struct {
	set interface {
		Waiting(key reconcile.Key) map[string]reconcile.Wait
	}
	leadership interface {
		leads() (leads bool, leader string)
		trouble() (sentence string, since time.Time)
	}
	// objects explains the objects themselves; nil if another role does.
	objects inspect.Explainer
}

// Explain implements [inspect.Explainer].
func (x waitExplainer) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	var steps []inspect.Step
	if x.objects != nil {
		steps = x.objects.Explain(ctx, q)
	}
	if q.Service == nil {
		return steps
	}
	return append(steps, x.writes(q)...)
}

// writes says whether the writes for a Service fail.
func (x waitExplainer) writes(q inspect.Query) []inspect.Step {
	ref := &inspect.ObjectRef{Kind: "Service", Namespace: q.Service.Namespace, Name: q.Service.Name}
	if leads, leader := x.leadership.leads(); !leads {
		return []inspect.Step{x.elsewhere(leader, ref)}
	}
	waits := x.set.Waiting(reconcile.Key{Namespace: q.Service.Namespace, Name: q.Service.Name})
	var steps []inspect.Step
	for _, what := range slices.Sorted(maps.Keys(waits)) {
		steps = append(steps, waitStep(what, waits[what], ref))
	}
	if len(steps) == 0 {
		// Only a note, because this step doesn't know whether the slices are correct.
		return []inspect.Step{{What: "Controllers", State: inspect.StepNote, Text: "the controllers have nothing left to write", Object: ref}}
	}
	return steps
}

// elsewhere returns the step of a process that doesn't lead: it names the leader.
func (x waitExplainer) elsewhere(leader string, ref *inspect.ObjectRef) inspect.Step {
	s := inspect.Step{What: "Controllers", Object: ref}
	switch trouble, _ := x.leadership.trouble(); {
	case leader != "":
		s.State, s.Text = inspect.StepNote, "another process writes Endpoints and slices, and knows whether that fails: "+leader
	case trouble != "":
		s.State, s.Text = inspect.StepWrong, "this process can't write Endpoints and slices, and doesn't know whether another one does: "+trouble
	default:
		s.State, s.Text = inspect.StepUnknown, "no process is known to write Endpoints and slices: the Lease has no holder, or has not been read yet"
	}
	return s
}

func waitStep(what string, wait reconcile.Wait, ref *inspect.ObjectRef) inspect.Step {
	s := inspect.Step{What: "Controllers", State: inspect.StepWrong, Object: ref}
	since := time.Since(wait.Since).Round(time.Second)
	if !wait.Until.IsZero() {
		s.Text = fmt.Sprintf("%s of the Service are repaired in %d s, because %s", what, seconds(time.Until(wait.Until)), repairReason(wait))
		return s
	}
	if !wait.Repaired.IsZero() {
		s.Text = fmt.Sprintf("%s of the Service were last repaired %v ago, because %s", what, time.Since(wait.Repaired).Round(time.Second), repairReason(wait))
		return s
	}
	if wait.Reason == "" {
		s.Text = fmt.Sprintf("%s of the Service have been held back for %v, because the API server refuses the writes of others: /ready says why", what, since)
		return s
	}
	s.Text = fmt.Sprintf("%s of the Service have not been written for %v: %s", what, since, wait.Reason)
	return s
}

// unwritten lists the failing writes of the controllers. It implements [inspect.WritesOf].
type unwritten struct{ set *controllers.Set }

// Waits implements [inspect.WritesOf].
func (w unwritten) Waits(limit int) (oldest []inspect.Wait, all int) {
	found, all := w.set.AllWaiting(limit)
	for _, f := range found {
		oldest = append(oldest, inspect.Wait{Namespace: f.Key.Namespace, Name: f.Key.Name, Reason: waitCause(f.Objects, f.Wait), Since: f.Wait.Since})
	}
	return oldest, all
}

// waitCause says why a write waits. The text has no times and no counts, so that Services with the same reason
// are one finding.
func waitCause(what string, wait reconcile.Wait) string {
	switch {
	case wait.Repairs > 0:
		return fmt.Sprintf("%s are repaired again and again, because %s keeps changing them: find that writer, and stop one of the two (`signpost check controllers`)", what, writerOf(wait))
	case !wait.Until.IsZero():
		return fmt.Sprintf("%s will be repaired: %s", what, repairReason(wait))
	case wait.Reason == "":
		return what + " are held back, because the API server refuses the writes of others: `signpost status` says why"
	default:
		return what + " can't be written: " + wait.Reason
	}
}

// seconds rounds up, so that no repair is announced in 0 s.
func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

// repairReason names the writer of an external change that will be repaired.
func repairReason(wait reconcile.Wait) string {
	if wait.Repairs == 0 {
		return writerOf(wait) + " has changed them"
	}
	return fmt.Sprintf("%s keeps changing them (repaired %d times so far): find that writer, and stop one of the two", writerOf(wait), wait.Repairs)
}

func writerOf(wait reconcile.Wait) string { return cmp.Or(wait.By, "another program") }
