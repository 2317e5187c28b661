package providertest

import (
	"context"
	"fmt"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
)

// DNS returns a [Lookup] that queries the DNS server at an address such as "127.0.0.1:5300", over TCP and
// without a signature.
func DNS(server string) Lookup {
	return func(ctx context.Context, name, recordType string) (Answer, error) {
		query := new(mdns.Msg)
		query.SetQuestion(mdns.Fqdn(name), mdns.StringToType[recordType])
		query.RecursionDesired = false
		client := &mdns.Client{Net: "tcp"}
		reply, _, err := client.ExchangeContext(ctx, query, server)
		if err != nil {
			return Answer{}, fmt.Errorf("ask %s for %s %s: %w", server, name, recordType, err)
		}
		if reply.Rcode != mdns.RcodeSuccess && reply.Rcode != mdns.RcodeNameError {
			return Answer{}, fmt.Errorf("ask %s for %s %s: %s", server, name, recordType, mdns.RcodeToString[reply.Rcode])
		}
		return answer(reply, query.Question[0])
	}
}

// answer returns the records of a reply with the name and type of the question. Those of a delegation are in
// the authority section.
func answer(reply *mdns.Msg, question mdns.Question) (Answer, error) {
	var a Answer
	for _, rr := range append(reply.Answer, reply.Ns...) {
		h := rr.Header()
		if h.Rrtype != question.Qtype || mdns.CanonicalName(h.Name) != mdns.CanonicalName(question.Name) {
			continue
		}
		a.TTL = int64(h.Ttl)
		value, err := rdata(rr)
		if err != nil {
			return Answer{}, fmt.Errorf("read the answer %s: %w", rr, err)
		}
		a.Values = append(a.Values, value)
	}
	return a, nil
}

func rdata(rr mdns.RR) (string, error) {
	if txt, ok := rr.(*mdns.TXT); ok {
		return dns.UnescapeString(strings.Join(txt.Txt, ""))
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String()), nil
}
