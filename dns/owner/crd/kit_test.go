package crd

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/testkit/crdtest"
	"github.com/signpostd/signpost/testkit/ownertest"
)

func TestKit(t *testing.T) {
	ownertest.Run(t, ownertest.Options{Open: func(t *testing.T) ownertest.Fixture {
		server := crdtest.New(t)
		return ownertest.Fixture{
			Process: func(id, oldID string) owner.Owner {
				config, client := server.Config(nil)
				o, err := New(Options{Config: config, HTTPClient: client, ID: id, OldOwner: oldID, Refresh: 1})
				if err != nil {
					t.Fatal(err)
				}
				return o
			},
			Left: func() int { return len(server.Objects()) },
			Plant: func(id string, r *dns.RecordSet) {
				object := &externaldns.DNSRecord{}
				object.Name = ObjectName(r.Key())
				done := &claims.Claim{Set: r, Labels: map[string]string{dns.LabelOwner: id}, Progress: claims.Done}
				fill(object, done)
				setReady(object, done, time.Now())
				server.Put(object)
			},
		}
	}})
}
