package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"
)

// nameServer is a DNS server to ask.
type nameServer struct{ addr netip.AddrPort }

// ask returns what dig +short would print, line by line.
func (n nameServer) ask(ctx context.Context, name, recordType string) ([]string, error) {
	query := new(mdns.Msg)
	query.SetQuestion(mdns.Fqdn(name), mdns.StringToType[recordType])
	client := &mdns.Client{Timeout: time.Second}
	reply, _, err := client.ExchangeContext(ctx, query, n.addr.String())
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", name, err)
	}
	var lines []string
	for _, rr := range reply.Answer {
		lines = append(lines, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	return lines, nil
}

// answers reports whether the addresses of a name are the wanted one; none if it is empty.
func (n nameServer) answers(ctx context.Context, name, want string) (bool, error) {
	lines, err := n.ask(ctx, name, "A")
	if err != nil {
		return false, err
	}
	return slices.Equal(lines, wantedLines(want)), fmt.Errorf("%s answers %q for %s, want %q", n.addr, lines, name, want)
}

func wantedLines(want string) []string {
	if want == "" {
		return nil
	}
	return []string{want}
}

// digCommand is what to type to ask for a name.
func (n nameServer) digCommand(name, recordType string) string {
	return fmt.Sprintf("dig +short @%s -p %d %s %s", n.addr.Addr(), n.addr.Port(), name, recordType)
}

// dig shows what the program of that name would print: one line that has each of want in it, or no
// line if there is none.
func (n nameServer) dig(ctx context.Context, name, recordType string, want ...string) error {
	command := n.digCommand(name, recordType)
	say("%s", command)
	lines, err := n.ask(ctx, name, recordType)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%s: %w", command, err)
	}
	for _, line := range lines {
		fmt.Println("  " + line)
	}
	if len(want) == 0 && len(lines) == 0 {
		fmt.Println("  (no answer: there is no such name)")
		return nil
	}
	missing := func(text string) bool { return !strings.Contains(lines[0], text) }
	if len(want) == 0 || len(lines) != 1 || slices.ContainsFunc(want, missing) {
		return fmt.Errorf("%s: the answer is %q, want %q", command, lines, want)
	}
	return nil
}
