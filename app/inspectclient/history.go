package inspectclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// HistoryQuery selects changes.
type HistoryQuery struct {
	// Subject is as for an explanation; nil for all changes.
	Subject url.Values
	// Since is the maximum age of the changes, an hour at most.
	Since time.Duration
	// Limit is the number of changes that are shown: the newest ones.
	Limit int
}

// History returns the changes of all processes, the oldest first. It fails if no process responds.
func (c *Client) History(ctx context.Context, q HistoryQuery) (output.Result, error) {
	query := maps.Clone(q.Subject)
	if query == nil {
		query = url.Values{}
	}
	query.Set("since", q.Since.String())
	query.Set("limit", strconv.Itoa(q.Limit))
	responses, err := queryAll(c, c.unqueried(), "the history", func(m *member) (h inspect.History, err error) {
		err = c.call(ctx, m.Process, inspect.HistoryPath, query, nil, &h)
		return h, historyFailure(err)
	})
	if err != nil {
		return output.Result{}, err
	}
	all := inspect.History{Changes: []inspect.PastChange{}}
	for _, a := range responses {
		for _, change := range a.value.Changes {
			change.Process = a.name()
			all.Changes = append(all.Changes, change)
		}
		all.Total += a.value.Total
		all.Bytes += a.value.Bytes
		all.Limit += a.value.Limit
	}
	all.KeepNewest(q.Limit)
	return historyResult(all, q.Since, len(responses)), nil
}

// historyFailure explains the 404 of a process of an earlier version.
func historyFailure(err error) error {
	if r := asRefusal(err); r != nil && r.code == http.StatusNotFound && strings.HasPrefix(r.failure.Error, "there is no such path") {
		return errors.New("its version keeps no history")
	}
	return err
}

func historyResult(h inspect.History, since time.Duration, processes int) output.Result {
	a := output.List(h, h.Changes, "TIME|SUBJECT|WHAT|CHANGE…|WHY…|SOURCE+|PROCESS+", func(c inspect.PastChange) (string, []string) {
		return c.Subject, []string{c.At.Local().Format(time.TimeOnly), c.Subject, changeWhat(&c), sentence(c.Text), sentence(c.Why), c.Source, c.Process}
	})
	switch {
	case len(h.Changes) == 0:
		a.Text = fmt.Sprintf("Nothing changed in the last %s (%s asked).\n", shortDuration(since), processesText(processes))
	case h.Total > len(h.Changes):
		a.Text = fmt.Sprintf("\nThe newest %d of %d changes are shown: name a subject, or set --limit.\n", len(h.Changes), h.Total)
	}
	return a
}

// changeWhat returns the kind of a change in a few words.
func changeWhat(c *inspect.PastChange) string {
	switch c.Kind {
	case inspect.ChangeSent:
		return "told " + inspect.Plural(c.Streams, "stream")
	case inspect.ChangeRecord:
		return cmp.Or(c.Zone, "record")
	default:
		return string(c.Kind)
	}
}

// shortDuration leaves out the zeros of a duration, as in 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
