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

// maxRecords bounds a transfer.
const maxRecords = 1 << 20

// A contradiction is an answer that can't be the changes of a zone.
type contradiction struct{ message string }

// Error says what is wrong.
func (c contradiction) Error() string { return c.message }

// transfer returns the records of the answer to AXFR or IXFR, in their order.
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
	for message := range messages { // to the end: the sender waits for its reader
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

// changes reads the answer to a question for what came after a serial: nothing, a change for each serial (RFC 1995,
// section 4), or the whole zone.
func changes(zone string, have serial, records []mdns.RR) ([]history.Entry, error) {
	first, ok := records[0].(*mdns.SOA)
	if !ok {
		return nil, contradiction{"the answer doesn't begin with an SOA"}
	}
	if len(records) == 1 {
		return nil, nil // nothing is newer
	}
	if second, ok := records[1].(*mdns.SOA); !ok || !have.known || second.Serial != have.at {
		return []history.Entry{{Zone: &history.Zone{Name: zone, Serial: first.Serial, Whole: true, Added: texts(records[1:])}}}, nil
	}
	return steps(zone, have.at, first.Serial, records[1:])
}

// steps reads the changes one after the other: the SOA of before, what is removed, the SOA of afterwards, what is added. At
// the end the newest SOA comes once more.
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

// cutStep returns an SOA, the records up to the next one, and what is left.
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

// texts returns records but SOAs in one form, sorted.
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
	// A tab in the text of a TXT record is written as \009, so these are only between fields.
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
