package publisher

import (
	"context"
	"maps"
	"slices"
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
type ownership struct {
	// open returns an owner for a new process. Its calls fail as those of f do; nil is for one whose calls don't
	// fail.
	open func(id string, f *faulty) (owner.Owner, error)
	// read returns what an owner claims.
	read func(zone map[string][]*dns.RecordSet, id string) map[dns.Key]*claims.Claim
}

// kinds are the kinds of owners.
var kinds = []string{"txt", "crd", "dynamodb"}

func newOwnership(t testing.TB, kind string) ownership {
	switch kind {
	case "crd":
		return outsideZones(t, inCluster(crdtest.New(t)))
	case "dynamodb":
		return outsideZones(t, inTable(dynamodbtest.New(t)))
	default:
		return inZones()
	}
}

const ownershipPrefix = "own-"

// inZones is ownership in TXT records.
func inZones() ownership {
	return ownership{
		open: func(id string, _ *faulty) (owner.Owner, error) {
			return owner.NewTXT(owner.TXTOptions{OwnerID: id, Prefix: ownershipPrefix, Managed: managedInFaults})
		},
		read: func(zone map[string][]*dns.RecordSet, id string) map[dns.Key]*claims.Claim {
			claimed := map[dns.Key]*claims.Claim{}
			for name, records := range zone {
				for _, r := range records {
					if rest, ownership := strings.CutPrefix(name, ownershipPrefix); ownership && textOwner(r) == id {
						recordType, described, _ := strings.Cut(rest, "-")
						claimed[dns.Key{Name: described, Type: strings.ToUpper(recordType)}] = &claims.Claim{State: claims.Confirmed}
					}
				}
			}
			return claimed
		},
	}
}

// isOwnershipRecord reports whether a record set is an ownership record.
func isOwnershipRecord(r *dns.RecordSet) bool { return r.Type == dns.TypeTXT && textOwner(r) != "" }

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
func outsideZones(t testing.TB, open func(id string, f *faulty) (*claims.Owner, error)) ownership {
	return ownership{
		open: func(id string, f *faulty) (owner.Owner, error) { return open(id, f) },
		read: func(_ map[string][]*dns.RecordSet, id string) map[dns.Key]*claims.Claim {
			reader, err := open(id, nil)
			if err != nil {
				t.Fatal(err)
			}
			claimed, _, err := reader.Store.Read(context.Background(), claims.MayReuse)
			if err != nil {
				t.Fatal(err)
			}
			return claimed
		},
	}
}

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

// look reads the zones, and what the owners claim.
func (s *schedule) look() (records map[string][]*dns.RecordSet) {
	records = s.truth.records()
	s.claims = map[string]map[dns.Key]*claims.Claim{}
	for _, o := range s.owners {
		s.claims[o.id] = s.ownership.read(records, o.id)
	}
	return records
}

// covers reports whether an owner claims a record set.
func (s *schedule) covers(id string, r *dns.RecordSet) bool {
	c := s.claims[id][r.Key()]
	return c.Owns(r) || s.byTarget && c.OwnsPart(r)
}

// claimed reports whether an owner would treat a record set with a key as its own, whoever creates it.
func (s *schedule) claimed(id string, key dns.Key) bool {
	c := s.claims[id][key]
	return c != nil && c.State == claims.Confirmed
}

// left returns the keys of the record sets that an owner claims.
func (s *schedule) left(id string) []dns.Key {
	left := maps.Clone(s.claims[id])
	maps.DeleteFunc(left, func(_ dns.Key, c *claims.Claim) bool { return c.State == claims.Refuted })
	return slices.Collect(maps.Keys(left))
}
