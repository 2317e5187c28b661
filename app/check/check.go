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

// State is the severity of a result.
type State string

// States, from good to bad. The exit code of a report is 1 with any Failed, else 2 with any
// Unknown, else 0.
const (
	// OK is for correct results.
	OK State = "ok"
	// Note is for information that is no problem.
	Note State = "note"
	// Warning is for something that works partly, or may do harm later.
	Warning State = "warning"
	// Unknown is for a check that couldn't be completed.
	Unknown State = "unknown"
	// Failed is for a problem.
	Failed State = "failed"
)

// Result is one finding.
type Result struct {
	State State `json:"state"`
	// Text is one sentence without a full stop. Hint says what to do, and may be empty.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
}

// Check is one check.
type Check struct {
	// Group is the heading of its results. Checks of one group follow each other.
	Group string
	// About describes the check in messages, such as "the rights of dns".
	About string
	// AskAPI is true if the check needs the API server. It is skipped if that is unreachable.
	AskAPI bool
	// Run returns the findings. It must return soon after its context has ended.
	Run func(context.Context) []Result
}

// Group is the results under one heading.
type Group struct {
	Name    string   `json:"name"`
	Results []Result `json:"results"`
}

// Report is the result of checks.
type Report struct {
	Groups []Group `json:"groups"`
}

// Run runs checks in parallel, each with a time limit. The first check tests the connection to the
// API server: those that need it wait for it, and are skipped if it isn't OK.
func Run(ctx context.Context, checks []Check, limit time.Duration) Report {
	found := make([][]Result, len(checks))
	reachable := make(chan struct{})
	var reached bool
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() {
			if i > 0 && c.AskAPI {
				if <-reachable; !reached {
					found[i] = []Result{{State: Unknown, Text: c.About + " couldn't be checked, because the API server is unreachable"}}
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

// runOne runs a check. If it doesn't return in time, its result is dropped.
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
	// The check was cancelled, and may still return a result.
	select {
	case found := <-outcome:
		return found
	case <-time.After(time.Second):
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

// Count returns the number of results with a state.
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

// ExitCode returns 0 if nothing is wrong, 1 if something is, and 2 if a check couldn't be
// completed.
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

// maxReason limits a displayed error, because servers write parts of it.
const maxReason = 400

// reason returns an error on one line, without unprintable characters and with limited length.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	text := sanitize.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " "), maxReason)
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return sanitize.Quote(text)
		}
	}
	return text
}
