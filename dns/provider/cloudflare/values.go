package cloudflare

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func target(r record) string {
	switch r.Type {
	case dns.TypeMX:
		priority := 0
		if r.Priority != nil {
			priority = int(*r.Priority)
		}
		return fmt.Sprintf("%d %s", priority, r.Content)
	case dns.TypeSRV:
		return serviceTarget(r)
	case dns.TypeTXT:
		return listedText(r.Content)
	}
	return r.Content
}

// serviceTarget returns the target of an SRV record: from its data, or else from its content, which
// may lack the priority.
func serviceTarget(r record) string {
	var s service
	if len(r.Data) > 0 && json.Unmarshal(r.Data, &s) == nil && s.Target != "" {
		return fmt.Sprintf("%d %d %d %s", s.Priority, s.Weight, s.Port, provider.Absolute(s.Target))
	}
	fields := strings.Fields(r.Content)
	if len(fields) == 3 && r.Priority != nil {
		fields = append([]string{strconv.Itoa(int(*r.Priority))}, fields...)
	}
	if len(fields) == 4 {
		fields[3] = provider.Absolute(fields[3])
	}
	return strings.Join(fields, " ")
}

// value returns what is sent for a target of a type. The targets of a record set that passed
// [dns.RecordSet.Check] have the fields that their type needs.
func value(recordType, target string) (outgoing, error) {
	o := outgoing{Type: recordType, Content: target}
	fields := strings.Fields(target)
	switch recordType {
	case dns.TypeTXT:
		o.Content = dns.QuoteText(target)
	case dns.TypeMX:
		priority, err := strconv.Atoi(fields[0])
		if err != nil {
			return o, err
		}
		o.Priority, o.Content = &priority, fields[1]
	case dns.TypeSRV:
		var numbers [3]int
		for i := range numbers {
			n, err := strconv.Atoi(fields[i])
			if err != nil {
				return o, err
			}
			numbers[i] = n
		}
		host := fields[3]
		if host != "." {
			host = strings.TrimSuffix(host, ".")
		}
		o.Content, o.Data = "", &service{Priority: numbers[0], Weight: numbers[1], Port: numbers[2], Target: host}
	}
	return o, nil
}

// arrived returns what is listed of a record that was sent.
func (o outgoing) arrived() record {
	r := record{ID: o.ID, Type: o.Type, Name: o.Name, Content: o.Content, TTL: o.TTL}
	if o.Priority != nil {
		priority := float64(*o.Priority)
		r.Priority = &priority
	}
	if o.Data != nil {
		// A struct of numbers and a text can always be encoded.
		r.Data, _ = json.Marshal(o.Data)
	}
	if o.Proxied != nil {
		r.Proxied = *o.Proxied
	}
	if o.Comment != nil {
		r.Comment = *o.Comment
	}
	if o.Tags != nil {
		r.Tags = *o.Tags
	}
	return r.normal()
}

// listedText returns the content of a TXT record as a target. Strings that were only split for their
// length are joined again. Content that isn't a list of quoted strings stays as it is.
func listedText(content string) string {
	if texts, ok := dns.QuotedTexts(content); ok {
		return dns.TextTarget(texts)
	}
	return content
}
