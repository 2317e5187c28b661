package inspectclient

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// maxMore limits the lines below a step, of all processes together.
const maxMore = 40

// roleOrder is the order of the steps: from the object to the client, then into DNS.
var roleOrder = []string{"controllers", destinationRole, dnsRole}

// Explain explains why something is or isn't served or published, with the joined steps of all
// roles. The worst verdict counts.
func (c *Client) Explain(ctx context.Context, subject url.Values) (output.Result, inspect.Verdict, error) {
	members, err := c.members(ctx)
	if err != nil {
		return output.Result{}, "", err
	}
	responses, err := queryWithRole(c, c.withoutStandbys(members), "an explanation", func(m *member) (inspect.Explanation, error) {
		var e inspect.Explanation
		err := c.call(ctx, m.Process, inspect.ExplainPath, subject, nil, &e)
		return e, err
	})
	switch {
	case isRefusal(err, http.StatusNotFound):
		return output.Result{}, "", fmt.Errorf("%w: no process that was asked knows it: name others with --selector or --addr", err)
	case err != nil:
		return output.Result{}, "", err
	}
	joined := join(withSteps(responses))
	return output.Result{Value: joined, Names: []string{joined.Subject}, Text: explanationText(joined, len(responses))}, joined.Verdict, nil
}

// withoutStandbys drops the processes that only have the role dns and don't lead, if another one
// leads.
func (c *Client) withoutStandbys(members []member) []member {
	standby := func(m member) bool { return len(m.status.Roles) == 1 && m.has(dnsRole) && !m.leads(dnsRole) }
	if !slices.ContainsFunc(members, func(m member) bool { return m.has(dnsRole) && m.leads(dnsRole) }) {
		return members
	}
	return slices.DeleteFunc(slices.Clone(members), standby)
}

// withSteps drops the processes without steps, if another one has some.
func withSteps(responses []from[inspect.Explanation]) []from[inspect.Explanation] {
	knows := func(a from[inspect.Explanation]) bool { return len(a.value.Steps) > 0 }
	if !slices.ContainsFunc(responses, knows) {
		return responses
	}
	return slices.DeleteFunc(slices.Clone(responses), func(a from[inspect.Explanation]) bool { return !knows(a) })
}

// join joins the explanations of several processes.
func join(responses []from[inspect.Explanation]) inspect.Explanation {
	var all inspect.Explanation
	anyLeads := slices.ContainsFunc(responses, func(a from[inspect.Explanation]) bool { return a.has(dnsRole) && a.leads(dnsRole) })
	joined := sections{at: map[string]*section{}}
	var summaries []string
	for _, a := range responses {
		all.Subject = cmp.Or(all.Subject, a.value.Subject)
		verdict, summary := a.value.Verdict, a.value.Summary
		if standsBy := anyLeads && a.has(dnsRole) && !a.leads(dnsRole); standsBy {
			// The leader knows what is published.
			a.value.Steps = slices.DeleteFunc(slices.Clone(a.value.Steps), func(s inspect.Step) bool { return s.Role == dnsRole })
			if verdict = worstVerdict(a.value.Steps); verdict != a.value.Verdict {
				summary = ""
			}
		}
		switch worse := cmp.Compare(severity(verdict), severity(all.Verdict)); {
		case worse > 0 || all.Verdict == "":
			all.Verdict, summaries = verdict, nil
			fallthrough
		case worse == 0:
			if summary != "" && !slices.Contains(summaries, summary) && (len(summaries) == 0 || verdict == inspect.VerdictOK) {
				summaries = append(summaries, summary)
			}
		}
		joined.add(a)
	}
	for _, s := range joined.list {
		all.Steps = append(all.Steps, s.steps...)
	}
	slices.SortStableFunc(all.Steps, func(a, b inspect.Step) int { return cmp.Compare(order(a.Role), order(b.Role)) })
	all.Summary = strings.Join(summaries, " ")
	return all
}

// section is a step about a Service, and those after it up to the next such step, of all processes.
type section struct {
	steps []inspect.Step
	at    map[string]int // index of a step
}

// sections has the sections of all processes, in the order in which they were found.
type sections struct {
	list []*section
	at   map[string]*section
}

// of returns the section for an object of a role, or for the steps of the role without an object.
func (s *sections) of(role, object string) *section {
	key := role + "\x00" + object
	if s.at[key] == nil {
		s.at[key] = &section{at: map[string]int{}}
		s.list = append(s.list, s.at[key])
	}
	return s.at[key]
}

// add adds the steps of one process.
func (s *sections) add(a from[inspect.Explanation]) {
	object := map[string]string{} // of the current section, by role
	for _, step := range a.value.Steps {
		if step.Object != nil && step.What == "Service" {
			object[step.Role] = step.Object.String()
		}
		s.of(step.Role, object[step.Role]).add(a.name(), step)
	}
}

// add adds a step of a process. Equal steps of several processes are merged.
func (s *section) add(process string, step inspect.Step) {
	key := strings.Join([]string{step.What, string(step.State), step.Text}, "\x00")
	i, known := s.at[key]
	if !known {
		s.at[key] = len(s.steps)
		step.Process = process
		s.steps = append(s.steps, step)
		return
	}
	same := &s.steps[i]
	same.Process += ", " + process
	for _, line := range step.More {
		if !slices.Contains(same.More, line) && len(same.More) < maxMore {
			same.More = append(same.More, line)
		}
	}
}

func order(role string) int {
	if i := slices.Index(roleOrder, role); i >= 0 {
		return i
	}
	return len(roleOrder)
}

func severity(v inspect.Verdict) int {
	return slices.Index([]inspect.Verdict{inspect.VerdictOK, inspect.VerdictUnknown, inspect.VerdictWrong}, v)
}

func worstVerdict(steps []inspect.Step) inspect.Verdict {
	verdict := inspect.VerdictOK
	for _, s := range steps {
		switch {
		case s.State == inspect.StepWrong:
			return inspect.VerdictWrong
		case s.State == inspect.StepUnknown:
			verdict = inspect.VerdictUnknown
		}
	}
	return verdict
}

// marks are the prefixes of steps.
var marks = map[inspect.StepState]string{inspect.StepOK: "ok", inspect.StepNote: "note", inspect.StepUnknown: "unknown", inspect.StepWrong: "WRONG"}

// explanationText returns the steps, and the summary as the last line. With several processes, each
// step names the processes that report it.
func explanationText(e inspect.Explanation, responded int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", output.Clean(e.Subject))
	role := ""
	for _, s := range e.Steps {
		if s.Role != role {
			role = s.Role
			fmt.Fprintf(&text, "\n%s\n", output.Clean(role))
		}
		var by string
		if responded > 1 {
			by = " (" + output.Clean(s.Process) + ")"
		}
		fmt.Fprintf(&text, "  %-8s%s: %s%s\n", cmp.Or(marks[s.State], output.Clean(string(s.State))), output.Clean(s.What), output.Clean(s.Text), by)
		for _, line := range s.More {
			fmt.Fprintf(&text, "          %s\n", output.Clean(line))
		}
	}
	fmt.Fprintf(&text, "\n%s\n", output.Clean(e.Summary))
	return text.String()
}
