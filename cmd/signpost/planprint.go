package main

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
)

// planResult is what `signpost plan` prints. As JSON it is described in the command's help.
type planResult struct {
	Differs  bool          `json:"differs"`
	Zones    []planZone    `json:"zones"`
	Problems []planProblem `json:"problems"`
	Errors   []string      `json:"errors"`
}

type planZone struct {
	Zone    string       `json:"zone"`
	ID      string       `json:"id"`
	Changes []planChange `json:"changes"`
	Held    *planHeld    `json:"held,omitempty"`
}

type planHeld struct {
	Hash      string       `json:"hash"`
	Deletions []planChange `json:"deletions"`
}

type planChange struct {
	Action        string       `json:"action"`
	Name          string       `json:"name"`
	Type          string       `json:"type"`
	SetIdentifier string       `json:"setIdentifier,omitempty"`
	Old           *planRecord  `json:"old,omitempty"`
	New           *planRecord  `json:"new,omitempty"`
	Objects       []planObject `json:"objects"`
}

type planRecord struct {
	Targets    []string       `json:"targets"`
	TTL        int64          `json:"ttl,omitempty"`
	Properties []dns.Property `json:"properties,omitempty"`
	Owner      string         `json:"owner,omitempty"`
	Resource   string         `json:"resource,omitempty"`
}

type planObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"`
}

type planProblem struct {
	Zone    string       `json:"zone,omitempty"`
	Name    string       `json:"name,omitempty"`
	Reason  string       `json:"reason"`
	Objects []planObject `json:"objects"`
}

// newPlanResult makes what is printed of what a publisher found out. Its error is nil, or
// has several joined.
func newPlanResult(zones []publisher.ZonePlan, remarks []publisher.Notice, err error) *planResult {
	r := &planResult{Zones: []planZone{}, Problems: []planProblem{}, Errors: []string{}}
	for _, z := range zones {
		shown := planZone{Zone: z.Zone.Name, ID: z.Zone.ID, Changes: planChanges(z.Changes)}
		if z.Held != "" {
			shown.Held = &planHeld{Hash: z.Held, Deletions: planChanges(z.HeldChanges)}
		}
		r.Differs = r.Differs || len(shown.Changes) > 0 || shown.Held != nil
		r.Zones = append(r.Zones, shown)
		for name, reason := range z.Waiting {
			r.Problems = append(r.Problems, planProblem{Zone: z.Zone.Name, Name: name, Reason: reason, Objects: objectsAbout(remarks, name)})
		}
	}
	for _, n := range remarks {
		p := planProblem{Name: nameOf(n), Reason: n.Message, Objects: planObjects(n.Objects)}
		if !slices.ContainsFunc(r.Problems, p.repeats) {
			r.Problems = append(r.Problems, p)
		}
	}
	slices.SortFunc(r.Problems, comparePlanProblems)
	for _, e := range leaves(err) {
		// Held deletions are in the zones.
		if !errors.Is(e, publisher.ErrHeld) {
			r.Errors = append(r.Errors, e.Error())
		}
	}
	slices.Sort(r.Errors)
	return r
}

// repeats reports whether another problem says the same.
func (p planProblem) repeats(other planProblem) bool {
	return p.Name == other.Name && p.Reason == other.Reason && (other.Zone != "" || slices.Equal(p.Objects, other.Objects))
}

func comparePlanProblems(a, b planProblem) int {
	byObject := func(x, y planObject) int { return strings.Compare(x.String(), y.String()) }
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason), slices.CompareFunc(a.Objects, b.Objects, byObject))
}

// leaves returns the errors that were joined, however deep.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	text := make([]string, 0, 2)
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
		text = append(text, e.Error())
	}
	if strings.Join(text, "\n") != err.Error() {
		return []error{err} // one error that wraps several
	}
	return all
}

// objectsAbout returns the objects of the remarks about a name.
func objectsAbout(remarks []publisher.Notice, name string) []planObject {
	var objects []dns.Object
	for _, n := range remarks {
		if nameOf(n) == name {
			objects = append(objects, n.Objects...)
		}
	}
	return planObjects(objects)
}

func planChanges(changes []dns.Change) []planChange {
	list := []planChange{}
	for _, c := range changes {
		r := c.RecordSet()
		action := "update"
		switch {
		case c.Old == nil:
			action = "create"
		case c.New == nil:
			action = "delete"
		}
		list = append(list, planChange{
			Action: action, Name: r.Name, Type: r.Type, SetIdentifier: r.SetIdentifier,
			Old: newPlanRecord(c.Old), New: newPlanRecord(c.New), Objects: planObjects(r.Objects),
		})
	}
	return list
}

func newPlanRecord(r *dns.RecordSet) *planRecord {
	if r == nil {
		return nil
	}
	targets := slices.Sorted(slices.Values(r.Targets))
	return &planRecord{Targets: targets, TTL: max(r.TTL, 0), Properties: r.Properties, Owner: r.Labels[dns.LabelOwner], Resource: r.Labels[dns.LabelResource]}
}

func planObjects(objects []dns.Object) []planObject {
	list := []planObject{}
	for _, o := range objects {
		shown := planObject{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Source: o.Source}
		if o.Name != "" && !slices.Contains(list, shown) {
			list = append(list, shown)
		}
	}
	return list
}

// String returns the object as people write it, such as Service shop/web.
func (o planObject) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(cmp.Or(o.Kind, o.Source) + " " + name)
}

func (r *planResult) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *planResult) writeTable(w io.Writer) error {
	var text strings.Builder
	count := map[string]int{}
	for _, z := range r.Zones {
		z.write(&text, count)
	}
	if len(r.Problems) > 0 {
		text.WriteString("Not as asked for:\n")
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
func (z *planZone) write(text *strings.Builder, count map[string]int) {
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

func (c *planChange) columns(action string) []string {
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
func (c *planChange) difference() string {
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

func (r *planRecord) targets() string { return strings.Join(r.Targets, ",") }

func (r *planRecord) ttl() string {
	if r.TTL == 0 {
		return "default"
	}
	return strconv.FormatInt(r.TTL, 10)
}

func (r *planRecord) properties() string {
	var list []string
	for _, p := range r.Properties {
		list = append(list, p.Name+"="+p.Value)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, " ") + "}"
}

// String returns all of a record set.
func (r *planRecord) String() string {
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
func (p planProblem) String() string {
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
