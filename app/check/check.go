package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/internal/sanitize"
)

// State is what a result says of what it is about.
type State string

// The states, from good to bad. A report with Failed has the exit code 1, one with Unknown has 2
// unless it has Failed, and any other has 0.
const (
	// OK is for what is as it has to be.
	OK State = "ok"
	// Note is for what is worth knowing, and nothing is wrong with.
	Note State = "note"
	// Warning is for what works in part, or may harm later.
	Warning State = "warning"
	// Unknown is for what couldn't be found out.
	Unknown State = "unknown"
	// Failed is for what is wrong.
	Failed State = "failed"
)

// Result is one thing that was found.
type Result struct {
	State State `json:"state"`
	// Text is one sentence without a full stop, and Hint says what to do; it may be empty.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Check finds something out.
type Check struct {
	// Group is the heading of its results. Checks of one group follow each other.
	Group string
	// About says, for a message, what is looked at, such as "the rights of dns".
	About string
	// AskAPI is true for a check that asks the API server. It isn't run where that can't be reached.
	AskAPI bool
	// Run returns what was found. It must return soon after its context has ended.
	Run func(context.Context) []Result
}

// Group is the results under one heading.
type Group struct {
	Name    string   `json:"name"`
	Results []Result `json:"results"`
}

// Report is what a list of checks has found.
type Report struct {
	Groups []Group `json:"groups"`
}

// Run runs checks at the same time, each for at most the limit. The first check says whether the API
// server can be reached: those that ask it wait for it, and are not run if it isn't OK.
func Run(ctx context.Context, checks []Check, limit time.Duration) Report {
	found := make([][]Result, len(checks))
	reachable := make(chan struct{})
	var reached bool
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			if i > 0 && c.AskAPI {
				if <-reachable; !reached {
					found[i] = []Result{{State: Unknown, Text: c.About + " couldn't be looked at, because the API server can't be asked"}}
					return
				}
			}
			found[i] = runOne(ctx, c, limit)
			if i == 0 {
				reached = len(found[i]) > 0 && found[i][0].State == OK
				close(reachable)
			}
		})
	}
	running.Wait()
	var report Report
	for i, c := range checks {
		report.add(c.Group, found[i])
	}
	return report
}

// runOne runs a check. One that doesn't return in time is left behind, and what it finds is dropped.
func runOne(ctx context.Context, c Check, limit time.Duration) []Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	outcome := make(chan []Result, 1)
	go func() { outcome <- c.Run(ctx) }()
	select {
	case found := <-outcome:
		return found
	case <-ctx.Done():
	}
	// It has been told to end, and may do so with something to say.
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case found := <-outcome:
		return found
	case <-patience.C:
		return []Result{late(c.About, limit)}
	}
}

func late(about string, limit time.Duration) Result {
	return Result{State: Unknown, Text: fmt.Sprintf("%s couldn't be found out within %v", about, limit), Hint: "try again, with a longer --timeout"}
}

func (r *Report) add(group string, results []Result) {
	if len(results) == 0 {
		return
	}
	if n := len(r.Groups); n > 0 && r.Groups[n-1].Name == group {
		r.Groups[n-1].Results = append(r.Groups[n-1].Results, results...)
		return
	}
	r.Groups = append(r.Groups, Group{Name: group, Results: results})
}

// Count returns how many results have a state.
func (r *Report) Count(state State) int {
	n := 0
	for _, g := range r.Groups {
		for _, result := range g.Results {
			if result.State == state {
				n++
			}
		}
	}
	return n
}

// ExitCode returns 0 if everything is fit to run, 1 if something is wrong, and 2 if something
// couldn't be found out.
func (r *Report) ExitCode() int {
	switch {
	case r.Count(Failed) > 0:
		return 1
	case r.Count(Unknown) > 0:
		return 2
	default:
		return 0
	}
}

// longest is the most of an error that is shown: servers write some of it.
const longest = 400

// reason returns an error in one line, without what can't be printed and with a limited length.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	text := sanitize.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "), longest)
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return sanitize.Quote(text)
		}
	}
	return text
}
