package authority

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
)

// Limits of one query.
const (
	// maxServers limits the servers that are queried, maxTypes the record types per server.
	maxServers, maxTypes = 4, 6
	// serverTime limits one response, findTime the search for the servers.
	serverTime, findTime = 2 * time.Second, 3 * time.Second
	// maxTargets limits the records of a response that are kept.
	maxTargets = 100
	// udpSize is the EDNS buffer size that works everywhere (DNS flag day 2020).
	udpSize = 1232
)

// Resolver finds the servers of a zone, for example a [net.Resolver].
type Resolver interface {
	LookupNS(ctx context.Context, name string) ([]*net.NS, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Response is the response of one server for one type.
type Response struct {
	// Server is the address with the port, Type the record type of the query.
	Server, Type string
	// Err says why there is no response. The other fields are empty then.
	Err error
	// Code is the response code, such as NOERROR. Authoritative is false if the server isn't one of
	// the zone.
	Code          string
	Authoritative bool
	// Targets are the values in master file format, names without the final dot. TTL is in seconds.
	// Alias is the target of a CNAME that was returned for another type.
	Targets []string
	TTL     uint32
	Alias   string
	// NegativeTTL is how long resolvers cache a negative response, in seconds (RFC 2308).
	NegativeTTL uint32
}

// Servers returns at most four servers of a zone, as address and port.
func Servers(ctx context.Context, resolver Resolver, zone string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	found, err := resolver.LookupNS(ctx, mdns.Fqdn(zone))
	if err != nil {
		return nil, fmt.Errorf("look up the name servers of %s: %w", zone, err)
	}
	var servers []string
	var errs []error
	for _, ns := range found[:min(len(found), maxServers)] {
		addresses, err := resolver.LookupNetIP(ctx, "ip", ns.Host)
		if err != nil || len(addresses) == 0 {
			errs = append(errs, fmt.Errorf("look up the name server %s: %w", ns.Host, err))
			continue
		}
		// One address per server is enough. IPv4 comes first, because more hosts can reach it.
		slices.SortStableFunc(addresses, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
		servers = append(servers, netip.AddrPortFrom(addresses[0].Unmap(), 53).String())
	}
	if len(servers) == 0 {
		return nil, errors.Join(append(errs, fmt.Errorf("no name server of %s was found", zone))...)
	}
	return servers, nil
}

// Query queries at most four servers, in parallel, for at most six types of a name. The responses
// are ordered by server, then by type.
func Query(ctx context.Context, servers []string, name string, types []string) []Response {
	servers, types = servers[:min(len(servers), maxServers)], types[:min(len(types), maxTypes)]
	responses := make([]Response, len(servers)*len(types))
	var running sync.WaitGroup
	for i, server := range servers {
		running.Go(func() {
			for j, recordType := range types {
				responses[i*len(types)+j] = query(ctx, server, name, recordType)
				if responses[i*len(types)+j].Err != nil {
					// A query for each further type would time out too.
					for k := j + 1; k < len(types); k++ {
						responses[i*len(types)+k] = Response{Server: server, Type: types[k], Err: responses[i*len(types)+j].Err}
					}
					return
				}
			}
		})
	}
	running.Wait()
	return responses
}

func query(ctx context.Context, server, name, recordType string) Response {
	a := Response{Server: server, Type: recordType}
	code, known := mdns.StringToType[recordType]
	if !known {
		a.Err = fmt.Errorf("the type %q can't be asked for", recordType)
		return a
	}
	message := new(mdns.Msg)
	message.SetQuestion(mdns.Fqdn(name), code)
	message.RecursionDesired = false
	message.SetEdns0(udpSize, false)
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	reply, err := exchange(ctx, "udp", server, message)
	if err == nil && reply.Truncated {
		reply, err = exchange(ctx, "tcp", server, message)
	}
	if err != nil {
		a.Err = err
		return a
	}
	a.read(reply, mdns.CanonicalName(name), code)
	return a
}

func exchange(ctx context.Context, network, server string, message *mdns.Msg) (*mdns.Msg, error) {
	client := &mdns.Client{Net: network, Timeout: serverTime, UDPSize: udpSize}
	reply, _, err := client.ExchangeContext(ctx, message, server)
	var timeout net.Error
	switch {
	case err != nil && (ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout()):
		return nil, fmt.Errorf("ask %s over %s: it has not answered within %v", server, strings.ToUpper(network), serverTime)
	case err != nil:
		return nil, fmt.Errorf("ask %s over %s: %w", server, strings.ToUpper(network), err)
	case len(reply.Question) != 1 || !strings.EqualFold(reply.Question[0].Name, message.Question[0].Name) || reply.Question[0].Qtype != message.Question[0].Qtype:
		return nil, fmt.Errorf("ask %s over %s: it has answered another question", server, strings.ToUpper(network))
	}
	return reply, nil
}

// read takes the records of the query from a reply.
func (a *Response) read(reply *mdns.Msg, name string, code uint16) {
	a.Code, a.Authoritative = mdns.RcodeToString[reply.Rcode], reply.Authoritative
	if a.Code == "" {
		a.Code = fmt.Sprint(reply.Rcode)
	}
	for _, rr := range reply.Answer {
		if mdns.CanonicalName(rr.Header().Name) != name {
			continue
		}
		if alias, ok := rr.(*mdns.CNAME); ok && code != mdns.TypeCNAME {
			a.Alias, a.TTL = targetOf(alias), rr.Header().Ttl
			continue
		}
		if rr.Header().Rrtype == code && len(a.Targets) < maxTargets {
			a.Targets, a.TTL = append(a.Targets, targetOf(rr)), rr.Header().Ttl
		}
	}
	slices.Sort(a.Targets)
	for _, rr := range reply.Ns {
		if soa, ok := rr.(*mdns.SOA); ok {
			a.NegativeTTL = min(soa.Minttl, soa.Hdr.Ttl)
		}
	}
}

// targetOf returns the value of a record, a name without the final dot.
func targetOf(rr mdns.RR) string {
	return strings.TrimSuffix(strings.TrimPrefix(rr.String(), rr.Header().String()), ".")
}
