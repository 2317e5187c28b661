package dnsinspect

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/authority"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/sanitize"
)

func (r *Role) queryServers(ctx context.Context, w *explanation, t publisher.Trace, h publisher.ZoneTrace) {
	if h.Private {
		w.add(whatServer, inspect.StepUnknown, nil, "the zone is private, so its servers are not asked: ask them from a network that may")
		return
	}
	servers := w.publisher.Servers
	if len(servers) == 0 && h.Name == "" {
		w.add(whatServer, inspect.StepNote, nil, "the provider names no zones, so the name servers are not known and not asked")
		return
	}
	if len(servers) == 0 {
		var err error
		if servers, err = authority.Servers(ctx, net.DefaultResolver, h.Name); err != nil {
			w.add(whatServer, inspect.StepUnknown, nil, "the name servers of the zone can't be found from here, so they are not asked: "+sanitize.Text(err.Error()))
			return
		}
	}
	responses := authority.Query(ctx, servers, t.Name, typesOf(h))
	results := make([]serverResult, 0, len(responses))
	for _, response := range responses {
		results = append(results, compareResponse(h, response))
	}
	w.addServerSteps(t, results)
}

// typesOf returns the record types to query.
func typesOf(h publisher.ZoneTrace) []string {
	var types []string
	for _, row := range h.Rows {
		if !slices.Contains(types, row.Type) {
			types = append(types, row.Type)
		}
	}
	if len(types) == 0 {
		return []string{dns.TypeA, dns.TypeAAAA}
	}
	return types
}

// serverResult is a response with the result of its comparison. ttl is how long resolvers may cache
// an old response.
type serverResult struct {
	authority.Response
	state inspect.StepState
	text  string
	ttl   uint32
}

// compareResponse compares a response with the published record sets. It is a pure function.
func compareResponse(h publisher.ZoneTrace, a authority.Response) serverResult {
	j := serverResult{Response: a, state: inspect.StepNote, ttl: a.TTL}
	row, published := rowOf(h, a.Type)
	switch {
	case a.Err != nil:
		j.state, j.text = inspect.StepUnknown, sanitize.Text(a.Err.Error())
	case a.Code == "REFUSED":
		j.state, j.text = inspect.StepUnknown, "it refuses the question (REFUSED): it does not have the zone, or does not answer this host"
	case a.Code != "NOERROR" && a.Code != "NXDOMAIN":
		j.state, j.text = inspect.StepUnknown, "it answers with the error "+a.Code
	case hidden(h) && (!a.Authoritative || a.Alias != ""):
		j.text = fmt.Sprintf("it answers as the %s record %s says", h.HiddenBy.Type, sanitize.Name(h.HiddenBy.Name))
	case !a.Authoritative:
		j.state, j.text = inspect.StepWrong, "it does not have the zone (its answer is not authoritative): correct the NS records of the zone, or have the server load it"
	case !published:
		j.ttl = max(a.TTL, a.NegativeTTL)
		j.text = "it answers with " + responseText(a)
	case row.Steered || !plain(row):
		j.text = "it answers with " + responseText(a) + ", which the provider derives from the record"
	case a.Alias != "" || !authority.Same(a.Type, row.Targets, a.Targets):
		j.state, j.ttl = inspect.StepWrong, max(a.TTL, a.NegativeTTL)
		j.text = fmt.Sprintf("it answers with %s, and the zone of the provider has %s: wait until the change has reached it, and if it stays, see whether it is a server of this zone", responseText(a), targetsText(row.Targets))
	case row.TTL > 0 && int64(a.TTL) != row.TTL:
		j.text = fmt.Sprintf("it answers as published, with the TTL %d instead of %d", a.TTL, row.TTL)
	default:
		j.state, j.text = inspect.StepOK, "it answers as published"
	}
	return j
}

// rowOf returns the row of a type, and whether it is published.
func rowOf(h publisher.ZoneTrace, recordType string) (publisher.Row, bool) {
	i := slices.IndexFunc(h.Rows, func(r publisher.Row) bool { return r.Type == recordType })
	if i < 0 {
		return publisher.Row{}, false
	}
	return h.Rows[i], h.Rows[i].State == publisher.RowPublished
}

// plain reports whether a server returns the targets of a record set unchanged: a record set of
// addresses with names as targets is an alias.
func plain(row publisher.Row) bool {
	if row.Type != dns.TypeA && row.Type != dns.TypeAAAA {
		return true
	}
	return !slices.ContainsFunc(row.Targets, func(t string) bool { _, err := netip.ParseAddr(t); return err != nil })
}

func responseText(a authority.Response) string {
	switch {
	case a.Alias != "":
		return "a CNAME to " + sanitize.Name(a.Alias)
	case a.Code == "NXDOMAIN":
		return "NXDOMAIN: the name does not exist"
	case len(a.Targets) == 0:
		return "no " + a.Type + " record"
	default:
		return fmt.Sprintf("%s %s, TTL %d", a.Type, targetsText(a.Targets), a.TTL)
	}
}

// addServerSteps adds a step for each different result of the servers for a type.
func (w *explanation) addServerSteps(t publisher.Trace, results []serverResult) {
	for len(results) > 0 {
		one := results[0]
		var servers, types []string
		differ := false
		results = slices.DeleteFunc(results, func(j serverResult) bool {
			// A result for the whole name is added once.
			same := j.text == one.text && (j.Type == one.Type || j.Err != nil || j.Code != "NOERROR")
			differ = differ || j.Type == one.Type && j.state != one.state
			if same && !slices.Contains(servers, j.Server) {
				servers = append(servers, j.Server)
			}
			if same && !slices.Contains(types, j.Type) {
				types = append(types, j.Type)
			}
			return same
		})
		text := fmt.Sprintf("asked for %s %s: %s", sanitize.Name(t.Name), strings.Join(types, " and "), one.text)
		if one.ttl > 0 && one.state != inspect.StepUnknown {
			text += fmt.Sprintf("; a resolver may hold an older answer for up to %d seconds (TTL)", one.ttl)
		}
		if differ {
			text += "; other servers of the zone say something else"
		}
		w.add(whatServer, one.state, nil, serverTitle(servers)+", "+text)
	}
}

func serverTitle(servers []string) string {
	if len(servers) == 1 {
		return "the server " + servers[0]
	}
	return fmt.Sprintf("%d servers (%s)", len(servers), strings.Join(servers, ", "))
}
