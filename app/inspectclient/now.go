package inspectclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// Now returns the current problems of all processes, the worst first, and whether there are any. It
// fails if no process responds. Processes that don't respond are listed as unknown.
func (c *Client) Now(ctx context.Context) (output.Result, inspect.Verdict, error) {
	var unknown []string
	responses, err := query(c, c.unqueried(), "what is wrong now", func(m *member) (now inspect.Now, err error) {
		err = c.call(ctx, m.Process, inspect.NowPath, queryOf("each", "true"), nil, &now)
		if isRefusal(err, http.StatusNotFound) {
			err = errors.New("its version doesn't have `signpost now`")
		}
		return now, err
	}, func(err error) bool {
		unknown = append(unknown, err.Error())
		return false
	})
	if err != nil {
		return output.Result{}, "", err
	}
	var all []inspect.Finding
	omitted, checked := 0, time.Now()
	for _, a := range responses {
		for _, f := range a.value.Findings {
			f.Processes = []string{a.name()}
			all = append(all, f)
		}
		for _, u := range a.value.Unknown {
			unknown = append(unknown, a.name()+": "+u)
		}
		omitted += a.value.Omitted
		if a.value.Checked.Before(checked) {
			checked = a.value.Checked
		}
	}
	now := inspect.Summarize(all, checked)
	now.Omitted += omitted
	now.Unknown = unknown
	verdict := inspect.VerdictOK
	if len(now.Findings) > 0 {
		verdict = inspect.VerdictWrong
	} else if len(now.Unknown) > 0 {
		verdict = inspect.VerdictUnknown
	}
	return nowResult(now, len(responses)), verdict, nil
}

func nowResult(now inspect.Now, processes int) output.Result {
	a := output.List(now, now.Findings, "SEVERITY|AREA|SUBJECT|FOR|CAUSE…|PROCESSES+", func(f inspect.Finding) (string, []string) {
		since := ""
		if f.Since != nil {
			since = age(*f.Since, now.Checked)
		}
		return string(f.Area) + "/" + strings.ReplaceAll(f.Subject, " ", "/"),
			[]string{strings.ToUpper(string(f.Severity)), string(f.Area), nowSubject(f), since, sentence(f.Cause), strings.Join(f.Processes, ",")}
	})
	if len(now.Findings) > 0 {
		a.Text = "\n" + nowSummary(now)
	} else if len(now.Unknown) == 0 {
		a.Text = fmt.Sprintf("Nothing is wrong (%s asked).\n", processesText(processes))
	}
	for _, u := range now.Unknown[:min(len(now.Unknown), maxNotes)] {
		a.Text += "Not known: " + output.Clean(sentence(u)) + "\n"
	}
	return a
}

// nowSubject names the first two subjects of a finding, and the number of others with the same cause.
func nowSubject(f inspect.Finding) string {
	switch {
	case f.Count <= 1 || len(f.Others) == 0:
		return f.Subject
	case f.Count == 2:
		return f.Subject + ", " + f.Others[0]
	default:
		return fmt.Sprintf("%s, %s + %d more", f.Subject, f.Others[0], f.Count-2)
	}
}

// nowSummary returns the number of problems, and a command that explains one of them.
func nowSummary(now inspect.Now) string {
	text := fmt.Sprintf("Wrong: %s, %s.", inspect.Plural(now.Total, "subject"), inspect.Plural(len(now.Findings)+now.Omitted, "cause"))
	if now.Omitted > 0 {
		text += fmt.Sprintf(" %d were left out.", now.Omitted)
	}
	if i := slices.IndexFunc(now.Findings, func(f inspect.Finding) bool { return f.Explain != "" }); i >= 0 {
		text += " More of one: signpost explain " + output.Argument(now.Findings[i].Explain)
	}
	return text + "\n"
}

func processesText(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
