package inspectclient

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/internal/sanitize"
)

// RecordFilter selects records. Empty fields select all.
type RecordFilter struct {
	Publisher, Zone, Search string
	// Object is KIND/NAMESPACE/NAME.
	Object string
	States []string
}

// given returns the names and values of the filters.
func (f RecordFilter) given() []string {
	return []string{"publisher", f.Publisher, "zone", f.Zone, "search", f.Search, "object", f.Object, "state", strings.Join(f.States, ",")}
}

// Records returns the records of the leaders. If no zone has the name [RecordFilter.Zone], it is
// used as the name of records.
func (c *Client) Records(ctx context.Context, filter RecordFilter) (output.Result, []inspect.Record, error) {
	all, err := c.records(ctx, filter)
	if err != nil {
		return output.Result{}, nil, err
	}
	if len(all) > 0 || filter.Zone == "" {
		return recordResult(all, filter, time.Now()), all, nil
	}
	zones, err := c.ZoneNames(ctx)
	if err != nil {
		return output.Result{}, nil, err
	}
	if slices.Contains(zones, filter.Zone) {
		return recordResult(all, filter, time.Now()), all, nil
	}
	name := filter.Zone
	others := filter
	others.Zone = ""
	filter.Zone, filter.Search = "", cmp.Or(filter.Search, name)
	if all, err = c.records(ctx, filter); err != nil {
		return output.Result{}, nil, err
	}
	all = slices.DeleteFunc(all, func(r inspect.Record) bool { return strings.TrimSuffix(strings.ToLower(r.Name), ".") != name })
	a := recordResult(all, filter, time.Now())
	if len(all) == 0 {
		a.Text = strings.TrimSuffix(emptyText("No zone and no record is named "+output.Clean(name), others.given()...), "\n") + " " + zonesText(zones) + "\n"
	}
	return a, all, nil
}

// CheckZone returns an error unless a leader has a zone of this name.
func (c *Client) CheckZone(ctx context.Context, name string) error {
	zones, err := c.ZoneNames(ctx)
	if err != nil || slices.Contains(zones, name) {
		return err
	}
	known := strings.TrimSuffix(zonesText(zones), ".")
	return fmt.Errorf("no zone is named %s: %s", output.Clean(name), strings.ToLower(known[:1])+known[1:])
}

// zonesText lists the existing zones.
func zonesText(zones []string) string {
	if len(zones) == 0 {
		return "The processes that lead know no zones."
	}
	const most = 10
	return fmt.Sprintf("The zones are %s.", sanitize.List(zones, most, output.Clean))
}

// records returns the records that pass a filter, sorted by publisher, zone, name and type.
func (c *Client) records(ctx context.Context, filter RecordFilter) ([]inspect.Record, error) {
	members, err := c.having(ctx, dnsRole)
	if err != nil {
		return nil, err
	}
	parameters := queryOf(filter.given()...)
	responses, err := query(c, members, "records", func(m *member) ([]inspect.Record, error) {
		return list(ctx, c, m, inspect.RecordsPath, parameters, func(l inspect.RecordList) ([]inspect.Record, inspect.Page) { return l.Records, l.Page })
	}, func(err error) bool {
		// Another leader has the publisher.
		return !isRefusal(err, http.StatusNotFound) && (filter.Publisher == "" || !isRefusal(err, http.StatusBadRequest))
	})
	if err != nil {
		return nil, err
	}
	all := []inspect.Record{}
	for _, a := range responses {
		for _, r := range a.value {
			r.Process = a.name()
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b inspect.Record) int {
		return cmp.Or(strings.Compare(a.Publisher, b.Publisher), strings.Compare(a.Zone, b.Zone), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Type, b.Type), strings.Compare(a.SetIdentifier, b.SetIdentifier), strings.Compare(a.Process, b.Process), strings.Compare(a.ZoneID, b.ZoneID))
	})
	return all, nil
}

// targetsCell returns the targets of the zone, else those that objects ask for.
func targetsCell(r inspect.Record) string {
	switch {
	case len(r.Targets) > 0:
		return firstTexts(r.Targets)
	case len(r.Wanted) > 0 && r.State != inspect.RecordPublished:
		return "(wanted) " + firstTexts(r.Wanted)
	default:
		return firstTexts(r.Wanted)
	}
}

// difference says which properties, beside name and type, distinguish the records of a response.
type difference struct{ publishers, zoneIDs, processes bool }

func differenceOf(all []inspect.Record) difference {
	var d difference
	zones := map[[3]string]string{}
	for _, r := range all {
		d.publishers = d.publishers || r.Publisher != all[0].Publisher
		d.processes = d.processes || r.Process != all[0].Process
		of := [3]string{r.Process, r.Publisher, r.Zone}
		if id, known := zones[of]; known && id != r.ZoneID {
			d.zoneIDs = true
		}
		zones[of] = r.ZoneID
	}
	return d
}

// columns returns the columns of the table, and their cells for a record. Columns that distinguish
// records with the same name come early.
func (d difference) columns(now time.Time) (names string, cells func(inspect.Record) []string) {
	names = "NAME|TYPE"
	late := "|ZONE+|SET+|WANTED+|TTL+|NEXT+"
	for _, c := range []struct {
		differs bool
		name    string
	}{{d.publishers, "|PUBLISHER"}, {d.zoneIDs, "|ZONE ID"}, {d.processes, "|PROCESS"}} {
		if c.differs {
			names += c.name
		} else if c.name != "|ZONE ID" {
			late += c.name + "+"
		}
	}
	names += "|STATE|TARGETS|OWNER|OBJECT|MESSAGE…" + late
	order := strings.Split(strings.NewReplacer("+", "", "…", "").Replace(names), "|")
	return names, func(r inspect.Record) []string {
		by := map[string]string{
			"NAME": r.Name, "TYPE": r.Type, "PUBLISHER": r.Publisher, "ZONE ID": r.ZoneID, "PROCESS": r.Process, "STATE": string(r.State),
			"TARGETS": targetsCell(r), "OWNER": r.Owner, "OBJECT": firstObject(r.Objects), "MESSAGE": sentence(message(r)),
			"ZONE": r.Zone, "SET": r.SetIdentifier, "WANTED": firstTexts(r.Wanted), "TTL": ttl(r.TTL), "NEXT": until(r.Next, now),
		}
		row := make([]string, len(order))
		for i, name := range order {
			row[i] = by[name]
		}
		return row
	}
}

// name returns the name of a record for -o name, which is unique in the response.
func (d difference) name(r inspect.Record) string {
	parts := []string{"record"}
	if d.processes {
		parts = append(parts, r.Process)
	}
	if d.publishers {
		parts = append(parts, cmp.Or(r.Publisher, "-"))
	}
	parts = append(parts, cmp.Or(r.Zone, "-"))
	if d.zoneIDs {
		parts = append(parts, cmp.Or(r.ZoneID, "-"))
	}
	parts = append(parts, r.Name, r.Type)
	if r.SetIdentifier != "" {
		parts = append(parts, r.SetIdentifier)
	}
	return strings.Join(parts, "/")
}

func recordResult(records []inspect.Record, filter RecordFilter, now time.Time) output.Result {
	all := inspect.RecordList{Records: records, Page: inspect.Page{Total: len(records)}}
	d := differenceOf(records)
	columns, cells := d.columns(now)
	counts := map[inspect.RecordState]int{}
	a := output.List(all, records, columns, func(r inspect.Record) (string, []string) {
		counts[r.State]++
		return d.name(r), cells(r)
	})
	if len(records) == 0 {
		a.Text = emptyText("No record is wanted or published", filter.given()...)
		return a
	}
	var parts []string
	for _, name := range inspect.RecordStates() {
		if n := counts[inspect.RecordState(name)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	a.Text = fmt.Sprintf("\n%s: %s.\n", inspect.Plural(len(records), "record"), strings.Join(parts, ", "))
	return a
}

// message returns the problem of a record, or the object that loses it.
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

// firstTexts returns the first texts, and the number of others.
func firstTexts(all []string) string {
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

// sentence truncates a text to 400 characters.
func sentence(text string) string { return output.Cut(text, 400) }

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
	if wait := then.Sub(now); wait > 0 {
		return "in " + wait.Round(time.Second).String()
	}
	return "now"
}

// ZoneNames returns the zones of the leader.
func (c *Client) ZoneNames(ctx context.Context) ([]string, error) {
	responses, err := lists(ctx, c, []string{dnsRole}, "zones", inspect.ZonesPath, nil, func(l inspect.ZoneList) ([]inspect.Zone, inspect.Page) { return l.Zones, l.Page })
	var names []string
	for _, a := range responses {
		for _, z := range a.value {
			if z.Name != "" { // else it counts the names without a zone
				names = append(names, z.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
