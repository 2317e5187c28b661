package hostiletest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

const (
	// thirty is the size of a response of empty entries, in bytes.
	thirty = 33 << 20
	// entries is the number of large entries, and large the size of each.
	entries = 500_000
	large   = 2000
	// pageOf is the number of entries in a page of an endless list.
	pageOf = 1000
)

// Parts of the expected errors.
const (
	tooMany    = "more than"
	tooLarge   = "need more than"
	noEnd      = "has no end"
	tooDecoded = "would need more than"
	bigEntry   = "an entry has more than"
)

// write writes a beginning, a repeated text, and an end.
func write(w io.Writer, begin, again string, bytes int, end string) {
	_, _ = io.WriteString(w, begin)
	const chunk = 64 << 10
	many := strings.Repeat(again, max(chunk/len(again), 1))
	for sent := 0; sent < bytes; sent += len(many) {
		_, _ = io.WriteString(w, many)
	}
	_, _ = io.WriteString(w, end)
}

var text = strings.Repeat("x", large)

// page is the format of a page in a provider's API: its entries, and the ownership record of the next page.
type page struct {
	provider string
	zones    bool
	// form has the entries and the ownership record. entry is an entry with a number and a text.
	form, entry, between string
	// empty is an entry without content.
	empty string
}

// Ownership records of the page after the nth one. Where ownership records must be numbers, these are.
func endless(n int) string { return fmt.Sprint(n + 1) }

func alternating(n int) string { return fmt.Sprint(2 - n%2) }

// attacks returns the attacks on a paged list.
func (p page) attacks() []Attack {
	what := "record sets"
	if p.zones {
		what = "zones"
	}
	of := func(count, size int, next func(int) string) func(io.Writer, *http.Request, int) {
		return func(w io.Writer, _ *http.Request, n int) {
			var list []string
			for i := range count {
				number := n*pageOf + i
				if count == 1 {
					// Repeated pages have the same entries.
					number = n % 2
				}
				list = append(list, fmt.Sprintf(p.entry, number, text[:size]))
			}
			fmt.Fprintf(w, p.form, strings.Join(list, p.between), next(n))
		}
	}
	list := []Attack{
		{Name: "endless pages of " + what, Want: tooMany, serve: of(pageOf, 1, endless)},
		{Name: "pages of " + what + " that alternate", Want: noEnd, serve: of(1, 1, alternating)},
		{Name: "endless pages without " + what, Want: noEnd, serve: of(0, 1, endless)},
		{Name: "33 MB of empty " + what, Want: tooDecoded, serve: func(w io.Writer, _ *http.Request, _ int) {
			begin, end, _ := strings.Cut(p.form, "%s")
			write(w, begin, p.empty+p.between, thirty, p.empty+fmt.Sprintf(end, "2"))
		}},
	}
	if !p.zones {
		list = append(list, Attack{Name: "500,000 record sets of 2 kB", Want: tooLarge, serve: of(pageOf, large, endless)})
	}
	for i := range list {
		list[i].Provider, list[i].Zones = p.provider, p.zones
	}
	return list
}

func all() []Attack {
	list := append(webhook(), powerDNS()...)
	for _, p := range []page{
		{
			"cloudflare", true, `{"success":true,"result":[%s],"result_info":{"page":%s,"total_pages":1000000000,"total_count":1000000000}}`,
			`{"id":"%032d","name":"z%[1]d.test","status":"active"}`, ",", "{}",
		},
		{
			"cloudflare", false, `{"success":true,"result":[%s],"result_info":{"page":%s,"total_pages":1000000000,"total_count":1000000000}}`,
			`{"id":"%032d","name":"r%[1]d.shop.test","type":"TXT","content":"\"%s\"","ttl":1}`, ",", "{}",
		},
		{
			"aws", true, zonesXML("%s", "%s"),
			`<HostedZone><Id>/hostedzone/Z%d</Id><Name>z%[1]d.test.</Name><CallerReference>c</CallerReference></HostedZone>`, "", "<HostedZone/>",
		},
		{
			"aws", false, `<?xml version="1.0"?><ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ResourceRecordSets>%s</ResourceRecordSets><IsTruncated>true</IsTruncated><NextRecordName>r%s.shop.test.</NextRecordName><NextRecordType>A</NextRecordType><MaxItems>300</MaxItems></ListResourceRecordSetsResponse>`,
			`<ResourceRecordSet><Name>r%d.shop.test.</Name><Type>TXT</Type><TTL>300</TTL><ResourceRecords><ResourceRecord><Value>"%s"</Value></ResourceRecord></ResourceRecords></ResourceRecordSet>`, "", "<ResourceRecordSet/>",
		},
		{"aws-sd", true, `{"Namespaces":[%s],"NextToken":"t%s"}`, `{"Id":"ns-%d","Name":"z%[1]d.test","Type":"DNS_PUBLIC"}`, ",", "{}"},
		{"aws-sd", false, `{"Services":[%s],"NextToken":"t%s"}`, `{"Id":"srv-%d","Name":"r%[1]d","Description":"%s"}`, ",", "{}"},
		{"google", true, `{"managedZones":[%s],"nextPageToken":"t%s"}`, `{"id":"1","name":"z%d","dnsName":"z%[1]d.test."}`, ",", "{}"},
		{"google", false, `{"rrsets":[%s],"nextPageToken":"t%s"}`, `{"name":"r%d.shop.test.","type":"TXT","ttl":300,"rrdatas":["\"%s\""]}`, ",", "{}"},
		{
			"azure", true, `{"value":[%s],"nextLink":"` + AzureHost + `/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnsZones?t=%s"}`,
			`{"id":"/z/%d","name":"z%[1]d.test"}`, ",", "{}",
		},
		{
			"azure", false, `{"value":[%s],"nextLink":"` + AzureHost + `/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/dnsZones/shop.test/all?t=%s"}`,
			`{"name":"r%d","type":"Microsoft.Network/dnszones/TXT","properties":{"TTL":300,"TXTRecords":[{"value":["%s"]}]}}`, ",", "{}",
		},
		{
			"libdns", false, `{"rrsets":[%s],"meta":{"pagination":{"page":1,"per_page":50,"next_page":%s,"last_page":1000000,"total_entries":1000000}}}`,
			`{"id":"r%d/TXT","name":"r%[1]d","type":"TXT","ttl":300,"records":[{"value":"\"%s\""}]}`, ",", "{}",
		},
	} {
		list = append(list, p.attacks()...)
	}
	for i, a := range list {
		if a.Provider == "libdns" && a.Want == noEnd && strings.HasPrefix(a.Name, "endless") {
			// Responses are counted in bytes, whatever they contain.
			list[i].Want = tooLarge
		}
	}
	// A list of Cloudflare ends with an empty page.
	return slices.DeleteFunc(list, func(a Attack) bool {
		return a.Provider == "cloudflare" && strings.HasPrefix(a.Name, "endless pages without")
	})
}

// AzureHost is the host of Azure's resource manager in these attacks. Links to next pages must have this
// host.
const AzureHost = "https://azure.invalid"

func webhook() []Attack {
	const set = `{"dnsName":"r%d.shop.test","recordType":"TXT","targets":["%s"],"recordTTL":300},`
	list := []Attack{
		{Name: "33 MB of empty record sets", Want: tooMany, serve: func(w io.Writer, _ *http.Request, _ int) { write(w, "[", "{},", thirty, "{}]") }},
		{Name: "one record set with 11 million empty targets", Want: bigEntry, serve: func(w io.Writer, _ *http.Request, _ int) {
			write(w, `[{"dnsName":"a.shop.test","recordType":"TXT","targets":[`, `"",`, thirty, `""]}]`)
		}},
		{Name: "blanks without an end", Want: bigEntry, serve: func(w io.Writer, _ *http.Request, _ int) { write(w, "[", "          ", thirty, "]") }},
		{Name: "500,000 record sets of 2 kB", Want: "more than", serve: func(w io.Writer, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, "[")
			for i := range entries {
				fmt.Fprintf(w, set, i, text)
			}
			_, _ = io.WriteString(w, "{}]")
		}},
	}
	for i := range list {
		list[i].Provider = "webhook"
	}
	return list
}

func powerDNS() []Attack {
	const begin, end = `{"id":"shop.test.","name":"shop.test.","rrsets":[`, `{}]}`
	list := []Attack{
		{Name: "66 MB of empty record sets", Want: tooMany, serve: func(w io.Writer, _ *http.Request, _ int) { write(w, begin, "{},", 2*thirty, end) }},
		{Name: "one record set with 22 million empty records", Want: bigEntry, serve: func(w io.Writer, _ *http.Request, _ int) {
			write(w, begin+`{"name":"a.shop.test.","type":"A","records":[`, "{},", 2*thirty, `{}]},`+end)
		}},
		{Name: "500,000 record sets of 2 kB", Want: tooLarge, serve: func(w io.Writer, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, begin)
			for i := range entries {
				fmt.Fprintf(w, `{"name":"r%d.shop.test.","type":"TXT","ttl":300,"records":[{"content":"\"%s\""}]},`, i, text)
			}
			_, _ = io.WriteString(w, end)
		}},
		{Name: "1,000,000 zones", Zones: true, Want: tooMany, serve: func(w io.Writer, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, "[")
			for i := range 2 * entries {
				fmt.Fprintf(w, `{"id":"z%d.test.","name":"z%[1]d.test."},`, i)
			}
			_, _ = io.WriteString(w, "{}]")
		}},
	}
	for i := range list {
		list[i].Provider = "pdns"
	}
	return list
}
