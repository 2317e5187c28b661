package dynamodb

import (
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
	"github.com/signpostd/signpost/testkit/ownertest"
)

func TestKit(t *testing.T) {
	ownertest.Run(t, ownertest.Options{
		Open: func(t *testing.T) ownertest.Fixture {
			table := dynamodbtest.New(t)
			return ownertest.Fixture{
				Process: func(id, _ string) owner.Owner {
					o, err := New(table.Client(nil), Options{OwnerID: id, Refresh: 1})
					if err != nil {
						t.Fatal(err)
					}
					return o
				},
				Left: func() int { return len(table.Rows()) },
				Plant: func(id string, r *dns.RecordSet) {
					table.Put(r.Name+"#"+r.Type+"#", dynamodbtest.Row{Owner: id, Labels: map[string]string{dns.LabelResource: "service/default/www"}})
				},
			}
		},
		Without: map[string]string{
			"a new owner": "only TXT records can be taken over, see TestTakeOver",
		},
	})
}
