package providertest

import (
	"context"
	"fmt"
	"strings"

	mdns "github.com/miekg/dns"
)

// DNS returns a [Lookup] that asks the DNS server at an address, "127.0.0.1:5300", over
// TCP and without a signature.
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
		return answer(reply, query.Question[0]), nil
	}
}

// answer returns the records of a reply that are about the question. Those of a
// delegation are in another section.
func answer(reply *mdns.Msg, question mdns.Question) Answer {
	var a Answer
	for _, rr := range append(reply.Answer, reply.Ns...) {
		h := rr.Header()
		if h.Rrtype != question.Qtype || mdns.CanonicalName(h.Name) != mdns.CanonicalName(question.Name) {
			continue
		}
		a.TTL = int64(h.Ttl)
		a.Values = append(a.Values, rdata(rr))
	}
	return a
}

func rdata(rr mdns.RR) string {
	if txt, ok := rr.(*mdns.TXT); ok {
		return unescape(strings.Join(txt.Txt, ""))
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// unescape undoes the escapes of a character-string (RFC 1035 5.1).
func unescape(s string) string {
	var text []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\' || i+1 == len(s):
			text = append(text, s[i])
		case i+3 < len(s) && digits(s[i+1:i+4]):
			text = append(text, (s[i+1]-'0')*100+(s[i+2]-'0')*10+s[i+3]-'0')
			i += 3
		default:
			i++
			text = append(text, s[i])
		}
	}
	return string(text)
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
