package inspect

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/history"
)

// history serves [HistoryPath].
func (s *Server) history(ctx context.Context, p parameters) (any, error) {
	if s.config.History == nil {
		return nil, refused(http.StatusNotFound, errors.New("this process keeps no history: start it with --history-bytes, or without --history-bytes=0"))
	}
	since, err := p.since(s.config.History.Now())
	if err != nil {
		return nil, err
	}
	f := historyFilter{since: since, limit: p.limit}
	if p.values["namespace"] != "" || slices.ContainsFunc(subjects, func(name string) bool { return p.values[name] != "" }) {
		if f.query, err = s.query(p); err != nil {
			return nil, err
		}
	}
	// Reading the whole history takes about as long as an explanation.
	select {
	case s.explaining <- struct{}{}:
		defer func() { <-s.explaining }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return f.find(s.config.History), nil
}

// since returns the time since when changes are wanted.
func (p parameters) since(now time.Time) (time.Time, error) {
	age := history.MaxAge
	if text := p.values["since"]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > history.MaxAge {
			return time.Time{}, badRequest("since is %.20q: must be a duration from 1s to 1h, such as 10m", text)
		}
		age = d
	}
	return now.Add(-age), nil
}

// historyFilter selects changes.
type historyFilter struct {
	// query is the subject; zero for all.
	query Query
	since time.Time
	limit int
}

// scope returns the keys that may have changes of the subject.
func (f *historyFilter) scope() history.Scope {
	switch q := f.query; {
	case q.Name != "":
		return history.Scope{Key: &history.Key{Name: q.Name}}
	case q.Service != nil:
		// The history has records of a Service under their DNS names.
		return history.Scope{Key: &history.Key{Namespace: q.Service.Namespace, Name: q.Service.Name}, Names: true}
	default:
		return history.Scope{}
	}
}

// match reports whether an entry is about the subject.
func (f *historyFilter) match(key history.Key, e *history.Entry) bool {
	switch q := f.query; {
	case q.Service != nil && key.Namespace != "":
		return (q.Service.Port == 0 || e.Port == 0 || e.Port == int(q.Service.Port)) &&
			(q.Service.Hostname == "" || e.Hostname == "" || e.Hostname == q.Service.Hostname)
	case q.Service != nil:
		return namesObject(e.Objects, "Service/"+q.Service.Namespace+"/"+q.Service.Name)
	case q.Object != nil && key.Namespace != "":
		return key.Namespace == q.Object.Namespace && e.Object == q.Object.Kind+"/"+q.Object.Name
	case q.Object != nil:
		return namesObject(e.Objects, q.Object.String())
	case q.Address.IsValid():
		return slices.ContainsFunc(slices.Concat(e.Added, e.Changed, e.Removed), func(a netip.AddrPort) bool {
			return a.Addr() == q.Address.Addr() && (q.Address.Port() == 0 || a.Port() == 0 || a.Port() == q.Address.Port())
		}) || slices.Contains(e.Old, q.Address.Addr().String()) || slices.Contains(e.New, q.Address.Addr().String())
	default:
		return true
	}
}

// namesObject reports whether a list has an object. Ownership records have kinds in lower case.
func namesObject(list []string, object string) bool {
	return slices.ContainsFunc(list, func(o string) bool { return strings.EqualFold(o, object) })
}

// recordKey identifies a record set among those of a name.
type recordKey struct{ source, zone, typ, set string }

// find returns the changes, the oldest first.
func (f *historyFilter) find(log *history.Log) History {
	found := History{}
	var last history.Key
	var before map[recordKey]history.Entry
	log.Walk(f.scope(), f.since, func(key history.Key, e history.Entry) {
		var previous *history.Entry
		if e.Kind == history.Record {
			if key != last || before == nil {
				last, before = key, map[recordKey]history.Entry{}
			}
			of := recordKey{e.Source, e.Zone, e.Type, e.SetIdentifier}
			if p, ok := before[of]; ok {
				previous = &p
			}
			if e.Action == history.Failed {
				delete(before, of) // the provider may have made the change in spite of the error
			} else {
				before[of] = e
			}
		}
		if e.At.Before(f.since) || !f.match(key, &e) {
			return
		}
		found.Total++
		found.Changes = append(found.Changes, pastChange(key, &e, previous))
		if len(found.Changes) >= 4*f.limit {
			found.KeepNewest(f.limit)
		}
	})
	found.KeepNewest(f.limit)
	found.Bytes, found.Limit = log.Size()
	return found
}

// KeepNewest sorts the changes by time and keeps the newest ones.
func (h *History) KeepNewest(limit int) {
	slices.SortStableFunc(h.Changes, func(a, b PastChange) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Subject, b.Subject))
	})
	h.Changes = append([]PastChange{}, h.Changes[max(0, len(h.Changes)-limit):]...)
}
