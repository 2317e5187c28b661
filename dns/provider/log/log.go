package log

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Plugin returns the kind of provider.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"log", "stdout"},
		Summary:    "prints each change as a line to the standard output",
		Properties: declared(),
		New:        func() provider.Config { return config{} },
	}
}

type config struct{}

// Flags adds no flags.
func (config) Flags(*pflag.FlagSet) {}

// Open implements [provider.Config].
func (config) Open(_ context.Context, in provider.Input) (provider.Provider, error) {
	p := New(os.Stdout)
	p.dryRun = in.DryRun
	return p, nil
}

// Provider prints changes. It has one zone with an empty name, which contains every name.
type Provider struct {
	dryRun bool

	mu   sync.Mutex
	out  io.Writer
	sets map[dns.Key]*dns.RecordSet
}

// New returns a provider that prints to out, with one Write for each call of Apply.
func New(out io.Writer) *Provider {
	return &Provider{out: out, sets: map[dns.Key]*dns.RecordSet{}}
}

// Capabilities implements [provider.Provider]. Everything can be printed.
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{SetIdentifiers: true, Conditional: true, Properties: []string{declared().Prefix}}
}

// Zones implements [provider.Provider].
func (p *Provider) Zones(context.Context) ([]dns.Zone, error) { return []dns.Zone{{}}, nil }

// Records implements [provider.Provider].
func (p *Provider) Records(ctx context.Context, _ dns.Zone) ([]*dns.RecordSet, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*dns.RecordSet, 0, len(p.sets))
	for _, r := range p.sets {
		list = append(list, r)
	}
	return list, nil
}

// Apply implements [provider.Provider]. If the lines can't be written, the changes count as not
// made, and are tried again.
func (p *Provider) Apply(ctx context.Context, _ dns.Zone, changes []dns.Change) error {
	if p.dryRun {
		return provider.ErrDryRun
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("print changes: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var there []*dns.RecordSet
	for _, c := range changes {
		if r := p.sets[c.RecordSet().Key()]; r != nil {
			there = append(there, r)
		}
	}
	return provider.ApplyUnchanged(changes, there, p.print)
}

// print prints changes and stores them. The caller has the lock.
func (p *Provider) print(changes []dns.Change) error {
	var lines strings.Builder
	for _, c := range changes {
		lines.WriteString(line(c))
	}
	if _, err := io.WriteString(p.out, lines.String()); err != nil {
		return fmt.Errorf("print changes: %w", err)
	}
	for _, c := range changes {
		p.store(c)
	}
	return nil
}

func (p *Provider) store(c dns.Change) {
	if c.Old != nil {
		delete(p.sets, c.Old.Key())
	}
	if c.New != nil {
		// A DNS server keeps neither labels nor objects.
		kept := c.New.Clone()
		kept.Labels, kept.Objects = nil, nil
		p.sets[c.New.Key()] = kept
	}
}

func line(c dns.Change) string {
	name := plain(dns.Canonical(c.RecordSet().Name))
	switch {
	case c.Old == nil:
		return fmt.Sprintf("create %s %s\n", name, describe(c.New))
	case c.New == nil:
		return fmt.Sprintf("delete %s %s\n", name, describe(c.Old))
	default:
		return fmt.Sprintf("update %s %s => %s\n", name, describe(c.Old), describe(c.New))
	}
}

func describe(r *dns.RecordSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", max(r.TTL, 0), plain(r.Type))
	for _, t := range r.Targets {
		b.WriteString(" " + singleLine(t))
	}
	if r.SetIdentifier != "" {
		fmt.Fprintf(&b, " [%s]", plain(r.SetIdentifier))
	}
	return b.String()
}

// singleLine returns a text that fits on a line. The quotes around texts stay.
func singleLine(text string) string {
	quoted := strconv.QuoteToGraphic(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// plain returns a text as a single word of a line.
func plain(text string) string {
	return strings.ReplaceAll(singleLine(text), " ", `\x20`)
}

// declared are the properties of printed records: any.
func declared() dns.Declaration { return dns.Declaration{Prefix: "log/"} }
