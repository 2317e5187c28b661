package preview

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/signpostd/signpost/app/output"
)

// String returns KIND NAMESPACE/NAME, such as Service shop/web.
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return strings.TrimSpace(cmp.Or(o.Kind, o.Source) + " " + name)
}

// WriteTable writes the plan as text for people.
func (p *Plan) WriteTable(w io.Writer) error {
	var text strings.Builder
	count := map[string]int{}
	for _, z := range p.Zones {
		z.write(&text, count)
	}
	p.writeProblems(&text)
	for _, z := range p.Zones {
		for _, problem := range z.NotOurs {
			text.WriteString("Warning: " + output.Clean(problem) + "\n\n")
		}
	}
	p.writeUnpublished(&text)
	p.writeLeftOut(&text)
	switch {
	case !p.Complete:
		text.WriteString("This plan is not complete, because something could not be read: the errors say what.\n")
	case !p.Differs:
		text.WriteString("Nothing to change.\n")
	}
	if p.Differs {
		fmt.Fprintf(&text, "To create: %d, to update: %d, to delete: %d, held: %d.\n", count["create"], count["update"], count["delete"], count["held"])
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeProblems writes the records that are not published, and how many stay because unread objects may
// ask for them.
func (p *Plan) writeProblems(text *strings.Builder) {
	stays := map[string][]string{}
	heading := "Records that objects ask for and that are not published:\n"
	for _, problem := range p.Problems {
		if problem.stays {
			stays[problem.Reason] = append(stays[problem.Reason], problem.Name)
			continue
		}
		text.WriteString(heading + "  " + output.Clean(problem.String()) + "\n")
		heading = ""
	}
	if heading == "" {
		text.WriteString("\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(stays)) {
		names := stays[reason]
		fmt.Fprintf(text, "Names whose records stay, because unread objects may ask for them: %d, such as %s: %s\n\n", len(names), output.Clean(names[0]), output.Clean(reason))
	}
}

// write writes the changes of a zone, if there are any, and counts them by action.
func (z *Zone) write(text *strings.Builder, count map[string]int) {
	if len(z.Changes) == 0 && z.Held == nil && len(z.Pending) == 0 {
		return
	}
	fmt.Fprintf(text, "Zone %s", cmp.Or(output.Clean(z.Zone), "."))
	if z.Publisher != "" {
		fmt.Fprintf(text, ", publisher %s", output.Clean(z.Publisher))
	}
	text.WriteString("\n")
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	for _, c := range z.Changes {
		count[c.Action]++
		fmt.Fprintln(table, "  "+strings.Join(c.columns(c.Action), "\t"))
	}
	if z.Held != nil {
		for _, c := range slices.Concat(z.Held.Deletions, z.Held.Updates) {
			count["held"]++
			fmt.Fprintln(table, "  "+strings.Join(c.columns("held"), "\t"))
		}
	}
	for _, a := range z.Pending {
		fmt.Fprintf(table, "  keep\t%s\t%s\t%s (new address not known yet)\n", output.Clean(a.Name), output.Clean(a.Type), output.Clean(strings.Join(a.Targets, ",")))
	}
	table.Flush() // a strings.Builder takes everything
	if z.Held != nil {
		how := "signpost dns --approve-plan=" + z.Held.Hash
		if z.Publisher != "" {
			how = "set approve-plan: " + z.Held.Hash + " in that publisher of the config file"
		}
		fmt.Fprintf(text, "  The budget does not allow the held changes. To make them: %s\n", how)
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
	// Names, targets and properties are those of tenants and of the DNS server.
	for i := range columns {
		columns[i] = output.Clean(columns[i])
	}
	return columns
}

// difference describes the created or deleted record set, or its changes.
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

func (r *Record) targets() string {
	if r.AddressUnknown {
		return strings.Join(append(slices.Clone(r.Targets), "(address not known yet)"), ",")
	}
	return strings.Join(r.Targets, ",")
}

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

// String returns the targets, the TTL and the properties of a record set.
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

// String returns the problem as one line.
func (p Problem) String() string {
	var about []string
	for _, o := range p.Objects {
		about = append(about, o.String())
	}
	text := strings.Join(about, ", ")
	if p.Publisher != "" {
		text = strings.TrimPrefix(text+", publisher "+p.Publisher, ", ")
	}
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
