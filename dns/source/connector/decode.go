package connector

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"

	"github.com/signpostd/signpost/dns"
)

// sizeLimit limits the response in bytes. Some hundred thousand records fit.
const sizeLimit = 64 << 20

// errTooLarge is the error for a response beyond sizeLimit.
var errTooLarge = fmt.Errorf("more than %d MiB were sent; split the records over several servers", sizeLimit>>20)

// endpoint is a record set in the protocol. Gob identifies fields by name.
type endpoint struct {
	DNSName          string
	Targets          []string
	RecordType       string
	SetIdentifier    string
	RecordTTL        int64
	Labels           map[string]string
	ProviderSpecific []property
}

type property struct {
	Name, Value string
}

// Decode reads one list of record sets and merges them. It ignores everything after the list.
// Without an error, the result isn't nil.
func Decode(r io.Reader) ([]*dns.RecordSet, error) {
	var sent []endpoint
	limited := &limitedReader{from: r, left: sizeLimit}
	if err := gob.NewDecoder(limited).Decode(&sent); err != nil {
		if limited.left < 0 {
			err = errTooLarge
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("nothing was sent; send one gob value, which may be an empty list")
		}
		return nil, fmt.Errorf("decode a list of endpoints: %w", err)
	}
	records := make([]*dns.RecordSet, len(sent))
	for i := range sent {
		records[i] = sent[i].recordSet()
	}
	return dns.Merge(records), nil
}

func (e *endpoint) recordSet() *dns.RecordSet {
	r := &dns.RecordSet{
		Name: e.DNSName, Type: e.RecordType, SetIdentifier: e.SetIdentifier, TTL: e.RecordTTL,
		Targets: e.Targets, Labels: map[string]string{},
	}
	for key, value := range e.Labels {
		// The server may set the object of a record set, but no other label with a fixed meaning.
		if dns.CheckLabel(key, value) == nil && (key == dns.LabelResource || !dns.IsReservedLabel(key)) {
			r.Labels[key] = value
		}
	}
	for _, p := range e.ProviderSpecific {
		r.SetProperty(p.Name, p.Value)
	}
	return r.Normal()
}

// limitedReader returns errTooLarge at the limit. With io.LimitReader, the data would end there, as
// if the server had closed the connection. left is then negative.
type limitedReader struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, errTooLarge
	}
	n, err := l.from.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
