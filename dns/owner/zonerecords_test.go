package owner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

// zoneRecords is the zones of a test. Lines are "NAME TYPE TARGETS KEY=VALUE...": targets are
// parted by |, @me or @me/svc is the ownership text of that owner and resource, and a key is
// set, ttl, own and res for the labels, or that of a property.
type zoneRecords map[string][]*dns.RecordSet

func newZoneRecords(t testing.TB, lines ...string) zoneRecords {
	t.Helper()
	w := zoneRecords{}
	for _, line := range lines {
		w.put(record(t, line))
	}
	return w
}

func (w zoneRecords) put(r *dns.RecordSet) {
	name := dns.Canonical(r.Name)
	w[name] = append(w[name], r)
}

func (w zoneRecords) lookup(name string) []*dns.RecordSet { return w[name] }

// apply makes changes like a server that gets each one separately. It only removes a record
// set that is exactly as Old says.
func (w zoneRecords) apply(t testing.TB, changes []dns.Change) {
	t.Helper()
	for _, c := range changes {
		key := c.RecordSet().Key()
		i := slices.IndexFunc(w[key.Name], func(r *dns.RecordSet) bool { return r.Key() == key })
		switch {
		case c.Old == nil && i >= 0:
			t.Errorf("create %s: is there: %s", show(c.New), show(w[key.Name][i]))
		case c.Old != nil && i < 0:
			t.Errorf("change %s: isn't there", show(c.Old))
		case c.Old != nil && !slices.Equal(c.Old.Targets, w[key.Name][i].Targets):
			t.Errorf("change %s: there is %s", show(c.Old), show(w[key.Name][i]))
		}
		if i >= 0 {
			w[key.Name] = slices.Delete(slices.Clone(w[key.Name]), i, i+1)
		}
		if c.New != nil {
			listed := c.New.Clone()
			listed.Labels = nil
			w.put(listed)
		}
	}
}

// lines returns the record sets, sorted.
func (w zoneRecords) lines() []string {
	var lines []string
	for _, sets := range w {
		for _, r := range sets {
			lines = append(lines, show(r))
		}
	}
	slices.Sort(lines)
	return lines
}

func record(t testing.TB, line string) *dns.RecordSet {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) < 2 {
		t.Fatalf("record %q: must have a name and a type", line)
	}
	r := &dns.RecordSet{Name: fields[0], Type: fields[1]}
	for i, f := range fields[2:] {
		key, value, isKey := strings.Cut(f, "=")
		switch {
		case i == 0 && f == "-":
		case i == 0:
			for target := range strings.SplitSeq(f, "|") {
				r.Targets = append(r.Targets, text(target))
			}
		case !isKey:
			t.Fatalf("record %q: %q must have a value", line, f)
		case key == "set":
			r.SetIdentifier = value
		case key == "ttl":
			ttl, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatalf("record %q: %v", line, err)
			}
			r.TTL = ttl
		case key == "own", key == "res":
			if r.Labels == nil {
				r.Labels = map[string]string{}
			}
			r.Labels[map[string]string{"own": dns.LabelOwner, "res": dns.LabelResource}[key]] = value
		default:
			r.Properties = append(r.Properties, dns.Property{Name: key, Value: value})
		}
	}
	return r
}

// text returns what a target of a line stands for.
func text(target string) string {
	rest, ok := strings.CutPrefix(target, "@")
	if !ok {
		return target
	}
	owner, resource, _ := strings.Cut(rest, "/")
	labels := map[string]string{dns.LabelOwner: owner}
	if resource != "" {
		labels[dns.LabelResource] = resource
	}
	return quote(FormatText(labels))
}

// show is the line of a record set.
func show(r *dns.RecordSet) string {
	var targets []string
	for _, target := range r.Targets {
		if labels, err := ParseText(target); err == nil && len(labels) <= 2 {
			short := "@" + labels[dns.LabelOwner]
			if resource := labels[dns.LabelResource]; resource != "" {
				short += "/" + resource
			}
			if text(short) == target {
				target = short
			}
		}
		targets = append(targets, target)
	}
	line := fmt.Sprintf("%s %s %s", r.Name, r.Type, strings.Join(targets, "|"))
	if r.SetIdentifier != "" {
		line += " set=" + r.SetIdentifier
	}
	if r.TTL != 0 {
		line += fmt.Sprint(" ttl=", r.TTL)
	}
	for _, p := range r.Properties {
		line += " " + p.Name + "=" + p.Value
	}
	return line
}

// showChange returns "+ NEW", "- OLD" or "~ NEW". For an ownership record, what it describes follows.
func showChange(c dns.Change) string {
	sign := "~ "
	switch {
	case c.Old == nil:
		sign = "+ "
	case c.New == nil:
		sign = "- "
	}
	line := sign + show(c.RecordSet())
	if described, ok := c.RecordSet().Labels[dns.LabelOwnedRecord]; ok {
		line += " for " + described
	}
	return line
}

func showChanges(changes []dns.Change) []string {
	lines := []string{}
	for _, c := range changes {
		lines = append(lines, showChange(c))
	}
	return lines
}

// change is "+ NEW", "- OLD" or "~ OLD => NEW"; what is listed in w is taken from there.
func change(t testing.TB, line string) dns.Change {
	t.Helper()
	sign, rest, _ := strings.Cut(line, " ")
	switch sign {
	case "+":
		return dns.Change{New: record(t, rest)}
	case "-":
		return dns.Change{Old: record(t, rest)}
	case "~":
		old, wanted, _ := strings.Cut(rest, " => ")
		return dns.Change{Old: record(t, old), New: record(t, wanted)}
	}
	t.Fatalf("change %q: must begin with +, - or ~", line)
	return dns.Change{}
}

func newTXT(t testing.TB, o TXTOptions) *TXT {
	t.Helper()
	if o.OwnerID == "" {
		o.OwnerID = "me"
	}
	owner, err := NewTXT(o)
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// labelled returns the lines of the record sets that aren't ownership records, with their labels.
func labelled(o Owner, w zoneRecords) []string {
	lines := []string{}
	for _, name := range slices.Sorted(maps.Keys(w)) {
		for _, r := range w[name] {
			if _, ownership := o.OwnershipRecord(r); ownership {
				continue
			}
			labels, rewrite := o.Labels(w.lookup, r)
			line := name + " " + r.Type
			if r.SetIdentifier != "" {
				line += " set=" + r.SetIdentifier
			}
			if labels != nil {
				line += " @" + labels[dns.LabelOwner]
				if resource := labels[dns.LabelResource]; resource != "" {
					line += "/" + resource
				}
			}
			if rewrite {
				line += " rewrite"
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
