package inspectclient

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// StatusList is the output of `signpost status -o json`.
type StatusList struct {
	Processes []inspect.Status `json:"processes"`
}

// Status returns the status of all processes.
func (c *Client) Status(ctx context.Context) (output.Result, error) {
	members, err := c.members(ctx)
	if err != nil {
		return output.Result{}, err
	}
	var all StatusList
	for _, m := range members {
		m.status.Process = m.name()
		all.Processes = append(all.Processes, m.status)
	}
	return statusResult(all, time.Now()), nil
}

func statusResult(all StatusList, now time.Time) output.Result {
	const columns = "PROCESS|ROLES|READY|LEADS|SERVICES|STREAMS|BEHIND|PUBLISHED|NOT PUBLISHED|HELD PLANS|PROBLEMS|AGE|VERSION+|CLUSTERS+"
	text := ""
	a := output.List(all, all.Processes, columns, func(s inspect.Status) (string, []string) {
		text += details(s)
		published, not := records(s.Counts.Records)
		return "process/" + s.Process, []string{
			s.Process, strings.Join(s.Roles, ","), readiness(s), leads(s), number(s.Counts.Services), number(s.Counts.Streams), number(s.Counts.StreamsBehind),
			published, not, number(s.Counts.HeldPlans), number(s.Counts.Problems), age(s.Started, now), s.Version, strconv.Itoa(len(s.Clusters)),
		}
	})
	if text != "" {
		a.Text = "\n" + text
	}
	return a
}

func readiness(s inspect.Status) string {
	if s.Ready {
		return "yes"
	}
	return "NO"
}

// leads returns the roles whose Lease the process has, with a dash for each other one.
func leads(s inspect.Status) string {
	var roles []string
	for _, l := range s.Leading {
		if l.Leads {
			roles = append(roles, l.Role)
		}
	}
	return strings.Join(roles, ",")
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// records returns the number of published names, and of wanted names that aren't published.
func records(counts map[inspect.RecordState]int) (published, not string) {
	if counts == nil {
		return "", ""
	}
	return strconv.Itoa(counts[inspect.RecordPublished]), strconv.Itoa(inspect.NotPublished(counts))
}

// stale returns for how long changes of kinds may have been missed, a line for each length of time.
func stale(tables []inspect.Table) (lines []string) {
	kinds := map[string][]string{}
	var times []string
	for _, t := range tables {
		if t.StaleSeconds <= 0 {
			continue
		}
		length := seconds(t.StaleSeconds)
		if kinds[length] == nil {
			times = append(times, length)
		}
		kinds[length] = append(kinds[length], t.Kind)
	}
	for _, length := range times {
		lines = append(lines, fmt.Sprintf("changes of %s may have been missed for %s", strings.Join(kinds[length], ", "), length))
	}
	return lines
}

// details returns what a process waits for or can't read.
func details(s inspect.Status) string {
	const limit = 20
	var lines []string
	for _, d := range s.Details {
		// The table shows known leaders.
		if !strings.HasPrefix(d, "leader: ") || strings.HasPrefix(d, "leader: none") {
			lines = append(lines, d)
		}
	}
	lines = append(lines, stale(s.Tables)...)
	for _, c := range s.Clusters {
		if c.Reason != "" {
			lines = append(lines, fmt.Sprintf("cluster %s: %s: %s", c.Name, c.State, c.Reason))
		}
	}
	if len(lines) > limit {
		lines = append(lines[:limit], fmt.Sprintf("and %d more: -o yaml shows them", len(lines)-limit))
	}
	var text strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&text, "%s: %s\n", output.Clean(s.Process), sentence(output.Clean(line)))
	}
	return text.String()
}
