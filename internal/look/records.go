package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/output"
)

// RecordFilter says which records are shown. Empty fields filter nothing.
type RecordFilter struct {
	Publisher, Zone, Search string
	// Object is KIND/NAMESPACE/NAME.
	Object string
	States []inspect.RecordState
}

// RecordStates returns all states of records, in the order of their way into a zone.
func RecordStates() []inspect.RecordState {
	return []inspect.RecordState{
		inspect.RecordPublished, inspect.RecordPending, inspect.RecordHeld, inspect.RecordConflict, inspect.RecordNoZone, inspect.RecordFailing, inspect.RecordForeign,
	}
}

// Records returns the records that the leader knows. With the format "zone" the answer is a master
// file, which is its Text.
func (c *Client) Records(ctx context.Context, filter RecordFilter) (output.Answer, []inspect.Record, error) {
	members, err := c.having(ctx, dnsRole)
	if err != nil {
		return output.Answer{}, nil, err
	}
	states := make([]string, len(filter.States))
	for i, s := range filter.States {
		states[i] = string(s)
	}
	query := queryOf("publisher", filter.Publisher, "zone", filter.Zone, "search", filter.Search, "object", filter.Object, "state", strings.Join(states, ","))
	answers, err := askAll(c, members, "records", func(m *member) ([]inspect.Record, error) {
		return list(ctx, c, m, inspect.RecordsPath, query, func(l inspect.RecordList) ([]inspect.Record, inspect.Page) { return l.Records, l.Page })
	})
	if err != nil {
		return output.Answer{}, nil, err
	}
	all := inspect.RecordList{Records: []inspect.Record{}}
	for _, a := range answers {
		for _, r := range a.value {
			r.Process = a.name()
			all.Records = append(all.Records, r)
		}
	}
	slices.SortFunc(all.Records, func(a, b inspect.Record) int {
		return cmp.Or(strings.Compare(a.Publisher, b.Publisher), strings.Compare(a.Zone, b.Zone), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Type, b.Type), strings.Compare(a.SetIdentifier, b.SetIdentifier), strings.Compare(a.Process, b.Process))
	})
	all.Total = len(all.Records)
	return recordAnswer(all, time.Now()), all.Records, nil
}

func recordAnswer(all inspect.RecordList, now time.Time) output.Answer {
	a := output.Answer{Value: all, Items: output.Items(all.Records), Table: output.TableData{Columns: []output.Column{
		{Name: "NAME"},
		{Name: "TYPE"},
		{Name: "STATE"},
		{Name: "TARGETS"},
		{Name: "OWNER"},
		{Name: "OBJECT"},
		{Name: "MESSAGE", Whole: true},
		{Name: "ZONE", Only: output.WideOnly},
		{Name: "PUBLISHER", Only: output.WideOnly},
		{Name: "SET", Only: output.WideOnly},
		{Name: "WANTED", Only: output.WideOnly},
		{Name: "TTL", Only: output.WideOnly},
		{Name: "NEXT", Only: output.WideOnly},
		{Name: "PROCESS", Only: output.WideOnly},
	}}}
	counts := map[inspect.RecordState]int{}
	for _, r := range all.Records {
		counts[r.State]++
		a.Names = append(a.Names, "record/"+cmp.Or(r.Zone, "-")+"/"+r.Name+"/"+r.Type)
		targets := r.Targets
		if len(targets) == 0 {
			targets = r.Wanted
		}
		a.Table.Rows = append(a.Table.Rows, []string{
			r.Name, r.Type, string(r.State), some(targets), r.Owner, firstObject(r.Objects), sentence(message(r)),
			r.Zone, r.Publisher, r.SetIdentifier, some(r.Wanted), ttl(r.TTL), until(r.Next, now), r.Process,
		})
	}
	if len(all.Records) == 0 {
		a.Text = "No record, or none that the filters let through.\n"
		return a
	}
	var parts []string
	for _, s := range RecordStates() {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", s, counts[s]))
		}
	}
	a.Text = fmt.Sprintf("\n%s: %s.\n", count(len(all.Records), "record"), strings.Join(parts, ", "))
	return a
}

// message says what is wrong with a record, or which object doesn't get it.
func message(r inspect.Record) string {
	if r.Message != "" || len(r.Losers) == 0 {
		return r.Message
	}
	text := firstObject(r.Losers[0].Objects) + " doesn't get it: " + r.Losers[0].Message
	if more := len(r.Losers) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// some returns the first of many texts, and how many more there are.
func some(all []string) string {
	const shown = 3
	if len(all) <= shown {
		return strings.Join(all, ",")
	}
	return fmt.Sprintf("%s + %d more", strings.Join(all[:shown], ","), len(all)-shown)
}

func firstObject(all []inspect.ObjectRef) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return objectText(all[0])
	default:
		return fmt.Sprintf("%s + %d more", objectText(all[0]), len(all)-1)
	}
}

// sentence returns a text that is shown whole, but for what nobody would read.
func sentence(text string) string {
	const most = 400
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func ttl(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprint(seconds)
}

func until(then *time.Time, now time.Time) string {
	if then == nil {
		return ""
	}
	if left := then.Sub(now); left > 0 {
		return "in " + left.Round(time.Second).String()
	}
	return "now"
}

// ZoneNames returns the names of the zones that the leader knows.
func (c *Client) ZoneNames(ctx context.Context) ([]string, error) {
	members, err := c.having(ctx, dnsRole)
	if err != nil {
		return nil, err
	}
	answers, err := askAll(c, members, "zones", func(m *member) ([]inspect.Zone, error) {
		return list(ctx, c, m, inspect.ZonesPath, nil, func(l inspect.ZoneList) ([]inspect.Zone, inspect.Page) { return l.Zones, l.Page })
	})
	var names []string
	for _, a := range answers {
		for _, z := range a.value {
			names = append(names, z.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
