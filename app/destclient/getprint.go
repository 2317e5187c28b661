package destclient

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/app/output"
)

func newGetPrinter(o Options, w io.Writer, now func() time.Time) printer[pb.Update] {
	switch {
	case !o.Output.IsTable():
		return updateLines{lines{out: w, now: now, format: o.Output}}
	case o.Watch:
		return &changePrinter{out: w, now: now}
	default:
		return &tablePrinter{out: w, authority: o.Authority}
	}
}

// tablePrinter prints one table at the end.
type tablePrinter struct {
	out       io.Writer
	authority string
	set       endpointSet
}

func (p *tablePrinter) restart() {}

func (p *tablePrinter) message(u *pb.Update) error {
	p.set.apply(u)
	return nil
}

func (p *tablePrinter) done() error {
	columns := strings.Join(rowHeader[:], "…|") + "…"
	r := output.List(&p.set, p.set.sorted(), columns, func(addr netip.AddrPort) (string, []string) {
		return addr.String(), cells(addr, p.set.endpoints[addr])
	})
	if len(p.set.endpoints) == 0 {
		r.Text = p.authority + " " + describeNone(p.set.none) + "\n"
	}
	var text strings.Builder
	if err := output.Print(&text, output.Format{}, r); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, text.String())
	return err
}

func describeNone(none *pb.NoEndpoints) string {
	if none != nil && !none.GetExists() {
		return "does not exist"
	}
	return "exists, has no endpoints"
}

// changePrinter prints a line for each change, as it arrives.
type changePrinter struct {
	out io.Writer
	now func() time.Time
	set endpointSet
	// begun is true after the header was printed.
	begun bool
}

func (p *changePrinter) restart() { p.set.initial = true }

func (p *changePrinter) message(u *pb.Update) error {
	text := renderChanges(p.now(), p.set.apply(u))
	if p.set.none != nil {
		text += changeLine(p.now(), change{mark: " "}, []string{describeNone(p.set.none)})
	}
	if !p.begun {
		p.begun = true
		text = fmt.Sprintf(changeFormat, "TIME", " ", "COUNT", pad(rowHeader[:])) + text
	}
	_, err := io.WriteString(p.out, text)
	return err
}

func (p *changePrinter) done() error { return nil }

// changeFormat has the time, the mark, the count and the columns of the row.
const changeFormat = "%-12s %s %5s  %s\n"

func renderChanges(at time.Time, changes []change) string {
	var text strings.Builder
	for _, c := range changes {
		row := []string{c.addr.String(), "was not known"}
		if c.endpoint != nil {
			row = cells(c.addr, c.endpoint)
		}
		text.WriteString(changeLine(at, c, row))
	}
	return text.String()
}

func changeLine(at time.Time, c change, cells []string) string {
	return fmt.Sprintf(changeFormat, at.Format(clock), c.mark, fmt.Sprint(c.count), pad(cells))
}
