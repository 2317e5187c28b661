package witness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// maxRecords is the maximum number of records in a transfer.
const maxRecords = 1 << 20

// A contradiction is an invalid response to a transfer.
type contradiction struct{ message string }

// Error describes the contradiction.
func (c contradiction) Error() string { return c.message }

// transfer returns the records of the response to AXFR or IXFR, in order.
func (z *Zone) transfer(ctx context.Context, query *mdns.Msg) ([]mdns.RR, error) {
	dialer := net.Dialer{Timeout: transferWithin}
	conn, err := dialer.DialContext(ctx, "tcp", z.config.Server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	t := &mdns.Transfer{Conn: &mdns.Conn{Conn: conn}, ReadTimeout: transferWithin, WriteTimeout: transferWithin}
	if k := z.config.Key; k != nil {
		name := mdns.CanonicalName(k.Name)
		t.TsigSecret = map[string]string{name: k.Secret}
		query.SetTsig(name, mdns.Fqdn(k.Algorithm), 300, time.Now().Unix())
	}
	messages, err := t.In(query, z.config.Server)
	if err != nil {
		return nil, err
	}
	var records []mdns.RR
	for message := range messages { // read to the end, because the sender waits for its reader
		if message.Error != nil {
			err = message.Error
		} else if records = append(records, message.RR...); len(records) > maxRecords {
			err, records = fmt.Errorf("more than %d records", maxRecords), nil
			_ = conn.Close()
		}
	}
	if err == nil && len(records) == 0 {
		err = errors.New("the answer is empty")
	}
	return records, err
}

// changes parses the response to IXFR for a serial: nothing, a change for each later serial (RFC 1995,
// section 4), or the whole zone.
func changes(zone string, have serial, records []mdns.RR) ([]history.Entry, error) {
	first, ok := records[0].(*mdns.SOA)
	if !ok {
		return nil, contradiction{"the answer doesn't begin with an SOA"}
	}
	if len(records) == 1 {
		return nil, nil // the zone has no newer serial
	}
	if second, ok := records[1].(*mdns.SOA); !ok || !have.known || second.Serial != have.at {
		return []history.Entry{{Zone: &history.Zone{Name: zone, Serial: first.Serial, Whole: true, Added: texts(records[1:])}}}, nil
	}
	return steps(zone, have.at, first.Serial, records[1:])
}

// steps parses the changes: the old SOA, the removed records, the new SOA, the added records, and so on. The
// newest SOA is repeated at the end.
func steps(zone string, at, newest uint32, records []mdns.RR) (entries []history.Entry, err error) {
	for at != newest {
		before, removed, left := cutStep(records)
		after, added, left := cutStep(left)
		if before == nil || after == nil || before.Serial != at || !newer(after.Serial, at) || newer(after.Serial, newest) {
			return nil, contradiction{fmt.Sprintf("the changes don't lead from serial %d to %d", at, newest)}
		}
		entries = append(entries, history.Entry{Zone: &history.Zone{Name: zone, Serial: after.Serial, Removed: texts(removed), Added: texts(added)}})
		at, records = after.Serial, left
	}
	return entries, nil
}

// cutStep returns an SOA, the records up to the next SOA, and the rest.
func cutStep(records []mdns.RR) (soa *mdns.SOA, step, left []mdns.RR) {
	if len(records) == 0 {
		return nil, nil, nil
	}
	soa, _ = records[0].(*mdns.SOA)
	end := 1
	for end < len(records) && records[end].Header().Rrtype != mdns.TypeSOA {
		end++
	}
	return soa, records[1:end], records[end:]
}

// texts returns the records without SOAs in canonical form, sorted.
func texts(records []mdns.RR) []string {
	var all []string
	for _, record := range records {
		if record.Header().Rrtype != mdns.TypeSOA {
			all = append(all, text(record))
		}
	}
	slices.Sort(all)
	return all
}

// text returns a record with names in lower case and single spaces: "web.lab.example. 300 IN A 10.0.0.1".
func text(record mdns.RR) string {
	record = mdns.Copy(record)
	record.Header().Name = mdns.CanonicalName(record.Header().Name)
	for _, name := range namesIn(record) {
		*name = mdns.CanonicalName(*name)
	}
	// These tabs are only between fields, because a tab in the text of a TXT record is written as \009.
	return strings.ReplaceAll(record.String(), "\t", " ")
}

// namesIn returns the names in the data of a record.
func namesIn(record mdns.RR) []*string {
	switch r := record.(type) {
	case *mdns.CNAME:
		return []*string{&r.Target}
	case *mdns.DNAME:
		return []*string{&r.Target}
	case *mdns.MX:
		return []*string{&r.Mx}
	case *mdns.NS:
		return []*string{&r.Ns}
	case *mdns.PTR:
		return []*string{&r.Ptr}
	case *mdns.SRV:
		return []*string{&r.Target}
	default:
		return nil
	}
}
