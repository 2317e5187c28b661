package publisher

import (
	"context"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/dns/owner/crd"
	"github.com/signpostd/signpost/dns/owner/dynamodb"
	"github.com/signpostd/signpost/testkit/crdtest"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// ownership is the registry of a schedule's owners.
type ownership interface {
	// look is called before the other methods. It may cache what it reads.
	look()
	// open returns an owner for a new process. Its calls fail as those of f do.
	open(id string, f *faulty) (owner.Owner, error)
	// covers reports whether a record set is claimed by an owner.
	covers(zone map[string][]*dns.RecordSet, id string, r *dns.RecordSet) bool
	// claimed reports whether an owner would treat a record set with a key as its own, whoever creates
	// it.
	claimed(zone map[string][]*dns.RecordSet, id string, key dns.Key) bool
	// left returns the keys of the record sets that an owner claims.
	left(zone map[string][]*dns.RecordSet, id string) []dns.Key
}

// kinds are the kinds of owners.
var kinds = []string{"txt", "crd", "dynamodb"}

func newOwnership(t testing.TB, kind string, byTarget bool) ownership {
	switch kind {
	case "crd":
		return &outsideZones{t: t, byTarget: byTarget, opener: inCluster(crdtest.New(t))}
	case "dynamodb":
		return &outsideZones{t: t, byTarget: byTarget, opener: inTable(dynamodbtest.New(t))}
	default:
		return inZones{}
	}
}

// inZones is ownership in TXT records.
type inZones struct{}

const ownershipPrefix = "own-"

func (inZones) look() {}

func (inZones) open(id string, _ *faulty) (owner.Owner, error) {
	return owner.NewTXT(owner.TXTOptions{OwnerID: id, Prefix: ownershipPrefix, Managed: managedInFaults})
}

func (inZones) covers(zone map[string][]*dns.RecordSet, id string, r *dns.RecordSet) bool {
	return isOwnershipRecord(r) || ownerByRecord(zone, r.Key()) == id
}

func (inZones) claimed(zone map[string][]*dns.RecordSet, id string, key dns.Key) bool {
	return ownerByRecord(zone, key) == id
}

func (inZones) left(zone map[string][]*dns.RecordSet, id string) []dns.Key {
	var keys []dns.Key
	for name, records := range zone {
		for _, r := range records {
			if rest, ownership := strings.CutPrefix(name, ownershipPrefix); ownership && textOwner(r) == id {
				recordType, described, _ := strings.Cut(rest, "-")
				keys = append(keys, dns.Key{Name: described, Type: strings.ToUpper(recordType)})
			}
		}
	}
	return keys
}

// isOwnershipRecord reports whether a record set is an ownership record.
func isOwnershipRecord(r *dns.RecordSet) bool { return r.Type == dns.TypeTXT && textOwner(r) != "" }

// ownerByRecord returns the owner of a record set by its ownership record.
func ownerByRecord(zone map[string][]*dns.RecordSet, key dns.Key) string {
	for _, r := range zone[ownershipPrefix+strings.ToLower(key.Type)+"-"+key.Name] {
		if id := textOwner(r); id != "" {
			return id
		}
	}
	return ""
}

// textOwner returns the owner in an ownership record, or "".
func textOwner(r *dns.RecordSet) string {
	_, after, found := strings.Cut(r.Targets[0], "external-dns/owner=")
	if r.Type != dns.TypeTXT || !found {
		return ""
	}
	id, _, _ := strings.Cut(after, ",")
	return strings.Trim(id, `"`)
}

// outsideZones is ownership in a store of claims.
type outsideZones struct {
	t        testing.TB
	byTarget bool
	// opener opens an owner; f is nil for one whose calls don't fail.
	opener func(id string, f *faulty) (*claims.Owner, error)
	// seen is what was read since the last look.
	seen map[string]map[dns.Key]*claims.Claim
}

func (o *outsideZones) look() { o.seen = map[string]map[dns.Key]*claims.Claim{} }

func inCluster(server *crdtest.Server) func(id string, f *faulty) (*claims.Owner, error) {
	return func(id string, f *faulty) (*claims.Owner, error) {
		config, client := server.Config(nil)
		if f != nil {
			config, client = server.Config(f.RoundTripper)
		}
		return crd.New(crd.Options{Config: config, HTTPClient: client, ID: id, ByTarget: f != nil && f.byTarget})
	}
}

func inTable(table *dynamodbtest.Table) func(id string, f *faulty) (*claims.Owner, error) {
	return func(id string, f *faulty) (*claims.Owner, error) {
		client := table.Client(nil)
		if f != nil {
			client = table.Client(f.RoundTripper)
		}
		return dynamodb.New(client, dynamodb.Options{OwnerID: id, ByTarget: f != nil && f.byTarget})
	}
}

func (o *outsideZones) open(id string, f *faulty) (owner.Owner, error) { return o.opener(id, f) }

// read returns what the store has of an owner.
func (o *outsideZones) read(id string) map[dns.Key]*claims.Claim {
	if seen := o.seen[id]; seen != nil {
		return seen
	}
	reader, err := o.opener(id, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	read, _, err := reader.Store.Read(context.Background(), claims.MayReuse)
	if err != nil {
		o.t.Fatal(err)
	}
	o.seen[id] = read
	return read
}

func (o *outsideZones) covers(_ map[string][]*dns.RecordSet, id string, r *dns.RecordSet) bool {
	c := o.read(id)[r.Key()]
	return c.Owns(r) || o.byTarget && c.OwnsPart(r)
}

func (o *outsideZones) claimed(_ map[string][]*dns.RecordSet, id string, key dns.Key) bool {
	c := o.read(id)[key]
	return c != nil && c.State == claims.Confirmed
}

func (o *outsideZones) left(_ map[string][]*dns.RecordSet, id string) []dns.Key {
	var keys []dns.Key
	for key, c := range o.read(id) {
		if c.State != claims.Refuted {
			keys = append(keys, key)
		}
	}
	return keys
}
