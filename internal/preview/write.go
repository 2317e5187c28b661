package preview

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/settings"
)

// Plan is what `signpost plan` prints. As JSON it is described in the command's help.
type Plan struct {
	Differs  bool      `json:"differs"`
	Zones    []Zone    `json:"zones"`
	Problems []Problem `json:"problems"`
	Errors   []string  `json:"errors"`
}

// Zone is what would be changed in one zone.
type Zone struct {
	// Zone is the name of its apex, ID the provider's own name for it.
	Zone    string   `json:"zone"`
	ID      string   `json:"id"`
	Changes []Change `json:"changes"`
	Held    *Held    `json:"held,omitempty"`
}

// Held are deletions that the budget doesn't allow. --approve-plan with the Hash makes them.
type Held struct {
	Hash      string   `json:"hash"`
	Deletions []Change `json:"deletions"`
}

// Change is what would become of one record set. The Action is create, update or delete; Old is
// missing in a creation, New in a deletion.
type Change struct {
	Action        string   `json:"action"`
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	SetIdentifier string   `json:"setIdentifier,omitempty"`
	Old           *Record  `json:"old,omitempty"`
	New           *Record  `json:"new,omitempty"`
	Objects       []Object `json:"objects"`
}

// Record is a record set, and who owns it. The TTL is in seconds; zero is the provider's own.
type Record struct {
	Targets    []string       `json:"targets"`
	TTL        int64          `json:"ttl,omitempty"`
	Properties []dns.Property `json:"properties,omitempty"`
	Owner      string         `json:"owner,omitempty"`
	Resource   string         `json:"resource,omitempty"`
}

// Object is an object that asks for a record set, and the source that read it.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"`
}

// Problem is a record that objects ask for and that can't be had, or has to wait, and why.
type Problem struct {
	Zone    string   `json:"zone,omitempty"`
	Name    string   `json:"name,omitempty"`
	Reason  string   `json:"reason"`
	Objects []Object `json:"objects"`
}

// newPlan makes what is printed of what a publisher found out. Its error is nil, or
// has several joined.
func newPlan(zones []publisher.ZonePlan, remarks []publisher.Notice, err error) *Plan {
	r := &Plan{Zones: []Zone{}, Problems: []Problem{}, Errors: []string{}}
	for _, z := range zones {
		shown := Zone{Zone: z.Zone.Name, ID: z.Zone.ID, Changes: changesOf(z.Changes)}
		if z.Held != "" {
			shown.Held = &Held{Hash: z.Held, Deletions: changesOf(z.HeldChanges)}
		}
		r.Differs = r.Differs || len(shown.Changes) > 0 || shown.Held != nil
		r.Zones = append(r.Zones, shown)
		for name, reason := range z.Waiting {
			r.Problems = append(r.Problems, Problem{Zone: z.Zone.Name, Name: name, Reason: reason, Objects: objectsAbout(remarks, name)})
		}
	}
	for _, n := range remarks {
		p := Problem{Name: nameOf(n), Reason: n.Message, Objects: objectsOf(n.Objects)}
		if !slices.ContainsFunc(r.Problems, p.repeats) {
			r.Problems = append(r.Problems, p)
		}
	}
	slices.SortFunc(r.Problems, compareProblems)
	for _, e := range settings.Leaves(err) {
		// Held deletions are in the zones.
		if !errors.Is(e, publisher.ErrHeld) {
			r.Errors = append(r.Errors, e.Error())
		}
	}
	slices.Sort(r.Errors)
	return r
}

// repeats reports whether another problem says the same.
func (p Problem) repeats(other Problem) bool {
	return p.Name == other.Name && p.Reason == other.Reason && (other.Zone != "" || slices.Equal(p.Objects, other.Objects))
}

func compareProblems(a, b Problem) int {
	byObject := func(x, y Object) int { return strings.Compare(x.String(), y.String()) }
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason), slices.CompareFunc(a.Objects, b.Objects, byObject))
}

// objectsAbout returns the objects of the remarks about a name.
func objectsAbout(remarks []publisher.Notice, name string) []Object {
	var objects []dns.Object
	for _, n := range remarks {
		if nameOf(n) == name {
			objects = append(objects, n.Objects...)
		}
	}
	return objectsOf(objects)
}

func changesOf(changes []dns.Change) []Change {
	list := []Change{}
	for _, c := range changes {
		r := c.RecordSet()
		action := "update"
		switch {
		case c.Old == nil:
			action = "create"
		case c.New == nil:
			action = "delete"
		}
		list = append(list, Change{
			Action: action, Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier,
			Old: recordOf(c.Old), New: recordOf(c.New), Objects: objectsOf(r.Objects),
		})
	}
	return list
}

func recordOf(r *dns.RecordSet) *Record {
	if r == nil {
		return nil
	}
	targets := slices.Sorted(slices.Values(r.Targets))
	return &Record{Targets: targets, TTL: max(r.TTL, 0), Properties: r.Properties, Owner: r.Labels[dns.LabelOwner], Resource: r.Labels[dns.LabelResource]}
}

func objectsOf(objects []dns.Object) []Object {
	list := []Object{}
	for _, o := range objects {
		shown := Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Source: o.Source}
		if o.Name != "" && !slices.Contains(list, shown) {
			list = append(list, shown)
		}
	}
	return list
}

// String returns the object as people write it, such as Service shop/web.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(cmp.Or(o.Kind, o.Source) + " " + name)
}

// WriteJSON writes the plan as one JSON object.
func (r *Plan) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the plan as text for people.
func (r *Plan) WriteTable(w io.Writer) error {
	var text strings.Builder
	count := map[string]int{}
	for _, z := range r.Zones {
		z.write(&text, count)
	}
	if len(r.Problems) > 0 {
		text.WriteString("Records that objects ask for and that are not published:\n")
		for _, p := range r.Problems {
			text.WriteString("  " + p.String() + "\n")
		}
		text.WriteString("\n")
	}
	if !r.Differs {
		text.WriteString("Nothing to change.\n")
	} else {
		fmt.Fprintf(&text, "To create: %d, to update: %d, to delete: %d, deletions held: %d.\n", count["create"], count["update"], count["delete"], count["held"])
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// write writes the changes of a zone, if there are any, and counts them.
func (z *Zone) write(text *strings.Builder, count map[string]int) {
	if len(z.Changes) == 0 && z.Held == nil {
		return
	}
	fmt.Fprintf(text, "Zone %s\n", cmp.Or(z.Zone, "."))
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	for _, c := range z.Changes {
		count[c.Action]++
		fmt.Fprintln(table, "  "+strings.Join(c.columns(c.Action), "\t"))
	}
	if z.Held != nil {
		for _, c := range z.Held.Deletions {
			count["held"]++
			fmt.Fprintln(table, "  "+strings.Join(c.columns("held"), "\t"))
		}
	}
	table.Flush() // a strings.Builder takes everything
	if z.Held != nil {
		fmt.Fprintf(text, "  More is to be deleted than the budget allows. If it is what you want: signpost dns --approve-plan=%s\n", z.Held.Hash)
	}
	text.WriteString("\n")
}

func (c *Change) columns(action string) []string {
	what := c.Type
	if c.SetIdentifier != "" {
		what += " (" + c.SetIdentifier + ")"
	}
	columns := []string{action, c.Name, what, c.difference()}
	var objects []string
	for _, o := range c.Objects {
		objects = append(objects, o.String())
	}
	if len(objects) > 0 {
		columns = append(columns, strings.Join(objects, ", "))
	} else if c.Old != nil && c.Old.Resource != "" {
		columns = append(columns, "was "+c.Old.Resource)
	}
	return columns
}

// difference says what a record set is to be, or how it is to change.
func (c *Change) difference() string {
	switch {
	case c.Old == nil:
		return c.New.String()
	case c.New == nil:
		return c.Old.String()
	}
	var parts []string
	for _, field := range []struct{ name, old, new string }{
		{"", c.Old.targets(), c.New.targets()},
		{"ttl ", c.Old.ttl(), c.New.ttl()},
		{"", c.Old.properties(), c.New.properties()},
		{"owner ", cmp.Or(c.Old.Owner, "none"), cmp.Or(c.New.Owner, c.Old.Owner, "none")},
	} {
		if field.old != field.new {
			parts = append(parts, field.name+field.old+" → "+field.new)
		}
	}
	if len(parts) == 0 {
		return c.New.targets() + ", ownership record"
	}
	return strings.Join(parts, ", ")
}

func (r *Record) targets() string { return strings.Join(r.Targets, ",") }

func (r *Record) ttl() string {
	if r.TTL == 0 {
		return "default"
	}
	return strconv.FormatInt(r.TTL, 10)
}

func (r *Record) properties() string {
	var list []string
	for _, p := range r.Properties {
		list = append(list, p.Name+"="+p.Value)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, " ") + "}"
}

// String returns all of a record set.
func (r *Record) String() string {
	text := r.targets()
	if r.TTL != 0 {
		text += " ttl " + r.ttl()
	}
	if len(r.Properties) > 0 {
		text += " " + r.properties()
	}
	return text
}

// String returns the problem as a line.
func (p Problem) String() string {
	var about []string
	for _, o := range p.Objects {
		about = append(about, o.String())
	}
	text := strings.Join(about, ", ")
	switch {
	case p.Name == "" && text == "":
		return p.Reason
	case p.Name == "":
		return text + ": " + p.Reason
	case text == "":
		return p.Name + ": " + p.Reason
	default:
		return p.Name + " (" + text + "): " + p.Reason
	}
}
