package connector

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/signpostd/signpost/dns"
)

// Limits of a response. In memory, an empty record is a hundred times as large as in gob, an empty
// property or target up to 32 times.
const (
	// sizeLimit limits the bytes. About a hundred thousand records fit.
	sizeLimit = 16 << 20
	// recordLimit limits the records.
	recordLimit = 1 << 17
)

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

// decode reads one list of record sets and merges them. It ignores everything after the list.
// Without an error, the result isn't nil.
func decode(r io.Reader) ([]*dns.RecordSet, error) {
	var sent []endpoint
	if err := decodeBounded(r, &sent); err != nil {
		return nil, fmt.Errorf("decode a list of endpoints: %w", err)
	}
	records := make([]*dns.RecordSet, len(sent))
	for i := range sent {
		records[i] = sent[i].recordSet()
	}
	return dns.Merge(records), nil
}

// decodeBounded decodes a list of endpoints, after it has counted them: gob skips fields that the
// names don't have.
func decodeBounded(r io.Reader, sent *[]endpoint) error {
	var names []struct{ DNSName string }
	var read bytes.Buffer
	limited := http.MaxBytesReader(nil, io.NopCloser(r), sizeLimit)
	switch err := gob.NewDecoder(io.TeeReader(limited, &read)).Decode(&names); {
	case errors.As(err, new(*http.MaxBytesError)):
		return errTooLarge
	case errors.Is(err, io.EOF):
		return errors.New("nothing was sent; send one gob value, which may be an empty list")
	case err != nil:
		return err
	case len(names) > recordLimit:
		return fmt.Errorf("%d records were sent; split them over several servers, with %d at most for each", len(names), recordLimit)
	}
	return gob.NewDecoder(&read).Decode(sent)
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
