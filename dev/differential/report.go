package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// report collects outcomes and prints them. Outcomes may come from any goroutine.
type report struct {
	out   io.Writer
	begun time.Time

	mu        sync.Mutex
	steps     int
	sequences int
	equal     int
	compared  int
	tally     tally
	explained map[string]int
	// unexplained counts failures by their names.
	unexplained map[string]int
}

func newReport(out io.Writer, s settings) *report {
	fmt.Fprintf(out, "%d steps from seed %d (again: make differential SEED=%d STEPS=%d)\n", s.steps, s.seed, s.seed, s.steps)
	return &report{out: out, begun: time.Now(), explained: map[string]int{}, unexplained: map[string]int{}}
}

// sequence adds the outcome of a sequence.
func (r *report) sequence(seed uint64, sequence []step, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequences++
	played := len(sequence)
	if out.failure != nil {
		played = out.failure.step + 1
		r.unexplained[out.failure.name]++
		r.print(seed, sequence[:played], out.failure)
	}
	if before := r.steps; (before+played)/500 > before/500 {
		fmt.Fprintf(r.out, "%d steps after %s\n", before+played, time.Since(r.begun).Round(time.Second))
	}
	r.steps += played
	r.equal += out.equal
	r.compared += out.compared
	r.tally.accepted += out.operations.accepted
	r.tally.refused += out.operations.refused
	r.tally.skipped += out.operations.skipped
	for name, n := range out.explained {
		r.explained[name] += n
	}
}

// played returns how many steps have been played.
func (r *report) played() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.steps
}

// print prints a failure with what may have led to it, and the objects of both sides.
func (r *report) print(seed uint64, history []step, f *failure) {
	fmt.Fprintf(r.out, "\nUNEXPLAINED: seed %d, step %d: %s\n%s\nwhat may have led to it:\n", seed, f.step, f.name, f.detail)
	for i, s := range only(history, f.concerned) {
		for _, o := range s {
			fmt.Fprintf(r.out, "  %d: %s\n", i, o)
		}
	}
	if c := f.cause; c != nil {
		fmt.Fprintf(r.out, "it lasts %s\n", c.lasts)
		printState(r.out, "Kubernetes", c.inKubernetes, c.service)
		printState(r.out, "Signpost", c.inSignpost, c.service)
	}
}

// printState prints the objects of a side that have to do with a Service.
func printState(out io.Writer, name string, w clusterState, service string) {
	fmt.Fprintf(out, "with %s:\n", name)
	line := func(kind string, o metav1.Object, rest ...any) {
		texts := make([]string, 0, len(rest))
		for _, v := range rest {
			texts = append(texts, canonical(v))
		}
		fmt.Fprintf(out, "  %s %s labels=%s annotations=%s deleted=%t %s\n", kind, o.GetName(), canonical(o.GetLabels()), canonical(o.GetAnnotations()),
			o.GetDeletionTimestamp() != nil, strings.Join(texts, " "))
	}
	for _, s := range w.services {
		if s.Name == service {
			line("Service", s, s.Spec)
		}
	}
	for _, p := range w.pods {
		line("Pod", p, p.Spec.NodeName, p.Status)
	}
	for _, e := range w.endpoints {
		if e.Name == service {
			line(kindEndpoints, e, e.Subsets)
		}
	}
	for _, s := range w.slices {
		if s.Labels["kubernetes.io/service-name"] == service {
			line(kindSlice, s, s.AddressType, s.Ports, s.Endpoints)
		}
	}
}

// end prints the summary, and returns an error if something is unexplained.
func (r *report) end() error {
	fmt.Fprintf(r.out, "\n%d steps in %d sequences in %s: %d ended equal\n", r.steps, r.sequences, time.Since(r.begun).Round(time.Second), r.equal)
	fmt.Fprintf(r.out, "%d operations: %d accepted, %d refused by both, %d without effect; %d objects were the same\n",
		r.tally.accepted+r.tally.refused+r.tally.skipped, r.tally.accepted, r.tally.refused, r.tally.skipped, r.compared)
	for _, reason := range reasons {
		fmt.Fprintf(r.out, "  explained %4d: %s\n", r.explained[reason.name], reason.name)
		fmt.Fprintf(r.out, "                  %s\n                  %s\n", reason.why, reason.documented)
	}
	failures := 0
	for _, name := range slices.Sorted(maps.Keys(r.unexplained)) {
		failures += r.unexplained[name]
		fmt.Fprintf(r.out, "  UNEXPLAINED %2d: %s\n", r.unexplained[name], name)
	}
	if r.compared < r.steps {
		return fmt.Errorf("only %d objects were compared in %d steps: the controllers don't write", r.compared, r.steps)
	}
	if failures > 0 {
		return fmt.Errorf("%d differences are unexplained", failures)
	}
	return nil
}
