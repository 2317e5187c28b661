package destclient

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	metapb "github.com/linkerd/linkerd2-proxy-api/go/meta"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/signpostd/signpost/app/output"
)

// profileText is a profile as text. All profiles have the same fields and tables in the same order,
// so that they can be compared.
type profileText struct {
	empty  bool
	fields []profileField
	tables []profileTable
}

// profileField is a single value of a profile. It may be empty.
type profileField struct {
	name, value string
}

// profileTable is a list of a profile. The first cell of a row names the item; no cell is empty.
type profileTable struct {
	// one and many are the singular and plural of a row.
	one, many string
	header    []string
	rows      [][]string
}

func newProfileText(p *pb.DestinationProfile) profileText {
	text := profileText{
		empty: proto.Size(p) == 0,
		fields: []profileField{
			{name: "name", value: printable(p.GetFullyQualifiedName())},
			{name: "parent", value: printable(referenceText(p.GetParentRef()))},
			{name: "profile", value: printable(referenceText(p.GetProfileRef()))},
			{name: "opaque", value: yesOrNo(p.GetOpaqueProtocol())},
			{name: "retry budget", value: RetryBudget(p.GetRetryBudget())},
		},
	}
	routes := profileTable{one: "route", many: "routes", header: []string{"ROUTE", "CONDITION", "TIMEOUT", "RETRYABLE", "RESPONSES"}}
	for _, r := range p.GetRoutes() {
		routes.rows = append(routes.rows, routeRow(r))
	}
	overrides := profileTable{one: "override", many: "overrides", header: []string{"AUTHORITY", "WEIGHT"}}
	for _, d := range p.GetDstOverrides() {
		overrides.rows = append(overrides.rows, []string{dash(printable(d.GetAuthority())), fmt.Sprint(d.GetWeight())})
	}
	endpoint := profileTable{one: "endpoint", many: "endpoint", header: rowHeader[:]}
	if e := p.GetEndpoint(); e != nil {
		endpoint.rows = append(endpoint.rows, cells(AddrPort(e.GetAddr()), e))
	}
	text.tables = []profileTable{routes, overrides, endpoint}
	return text
}

// render returns the text, each line with a prefix.
func (t profileText) render(prefix string) string {
	if t.empty {
		return prefix + "empty, as for a port that its Service doesn't declare\n"
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, f := range t.fields {
		if f.value != "" {
			fmt.Fprintf(w, "%s%s\t%s\n", prefix, f.name, output.Clean(f.value))
		}
	}
	w.Flush() // a strings.Builder takes everything, here and below
	for _, table := range t.tables {
		if len(table.rows) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s%s\n", prefix, table.many)
		w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s  %s\n", prefix, strings.Join(table.header, "\t"))
		for _, row := range table.rows {
			fmt.Fprintf(w, "%s  %s\n", prefix, strings.Join(cleaned(row), "\t"))
		}
		w.Flush()
	}
	return text.String()
}

// cleaned returns cells without terminal control sequences, because they are untrusted.
func cleaned(row []string) []string {
	clean := make([]string, len(row))
	for i, cell := range row {
		clean[i] = output.Clean(cell)
	}
	return clean
}

func routeRow(r *pb.Route) []string {
	var classes []string
	for _, c := range r.GetResponseClasses() {
		verdict := "success"
		if c.GetIsFailure() {
			verdict = "failure"
		}
		classes = append(classes, verdict+": "+responseCondition(c.GetCondition(), false))
	}
	return []string{
		dash(printable(r.GetMetricsLabels()["route"])),
		requestCondition(r.GetCondition(), false),
		dash(duration(r.GetTimeout())),
		yesOrNo(r.GetIsRetryable()),
		dash(strings.Join(classes, "; ")),
	}
}

// RetryBudget returns a budget as text; empty if there is none.
func RetryBudget(b *pb.RetryBudget) string {
	if b == nil {
		return ""
	}
	ratio := strconv.FormatFloat(float64(b.GetRetryRatio()), 'g', -1, 32)
	return fmt.Sprintf("ratio %s, at least %d/s, ttl %s", ratio, b.GetMinRetriesPerSecond(), dash(duration(b.GetTtl())))
}

func duration(d *durationpb.Duration) string {
	switch {
	case d == nil:
		return ""
	case !d.IsValid():
		return "invalid"
	default:
		return d.AsDuration().String()
	}
}

// referenceText returns kind, namespace and name of an object, and its section or port.
func referenceText(m *metapb.Metadata) string {
	if name := m.GetDefault(); name != "" {
		return "default " + name
	}
	r := m.GetResource()
	if r.GetName() == "" {
		return ""
	}
	text := strings.Trim(r.GetGroup()+"/"+r.GetKind(), "/") + " " + strings.TrimPrefix(r.GetNamespace()+"/"+r.GetName(), "/")
	if r.GetSection() != "" {
		text += " section " + r.GetSection()
	}
	if r.GetPort() != 0 {
		text += fmt.Sprintf(" port %d", r.GetPort())
	}
	return strings.TrimSpace(text)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func dash(cell string) string { return cmp.Or(cell, "-") }

// printable quotes a text that would break the layout or control the terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
