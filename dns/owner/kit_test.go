package owner_test

import (
	"testing"

	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/testkit/ownertest"
)

func TestKitTXT(t *testing.T) {
	ownertest.Run(t, ownertest.Options{Open: func(t *testing.T) ownertest.Fixture {
		return ownertest.Fixture{Process: func(id, oldID string) owner.Owner {
			o, err := owner.NewTXT(owner.TXTOptions{OwnerID: id, OldOwnerID: oldID, Prefix: "own-"})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}}
	}})
}

// The zone in memory keeps the label for each record set, where a service of Cloud Map keeps one
// description for all of a name.
func TestKitDescriptions(t *testing.T) {
	const edited = "a person who edits a record doesn't change the description of its service: TestFaults of the provider awssd"
	ownertest.Run(t, ownertest.Options{
		Open: func(t *testing.T) ownertest.Fixture {
			return ownertest.Fixture{Process: func(id, oldID string) owner.Owner {
				o, err := owner.NewDescriptions(owner.DescriptionOptions{OwnerID: id, OldOwnerID: oldID})
				if err != nil {
					t.Fatal(err)
				}
				return o
			}}
		},
		Without: map[string]string{
			"edited by a person":               edited,
			"a crash between claim and record": "the two are one request here; at Cloud Map, a service without instances has no records",
			"two types":                        "all record sets of a name have one owner: TestDescriptionsShare",
			"two owners of one name":           "all record sets of a name have one owner: TestDescriptionsShare",
		},
	})
}

// Without ownership, everything is ours, so only those scenarios count in which nobody else has
// anything.
func TestKitNone(t *testing.T) {
	const all, lone = "everything is ours, also what others make", "no labels are kept"
	ownertest.Run(t, ownertest.Options{
		Open: func(*testing.T) ownertest.Fixture {
			return ownertest.Fixture{Process: func(string, string) owner.Owner { return owner.None{} }}
		},
		Without: map[string]string{
			"created, changed and deleted": all, "a person is faster": all, "a person makes the same, faster": all, "refused": all, "throttled": all, "no credentials": all,
			"nothing made, and nobody knows": all, "made, and the answer is lost": all, "a crash between claim and record": all,
			"a crash between record and confirmation": all, "its record is gone": all, "renamed": all, "a new owner": all, "two types": all,
			"two owners of one name": all, "two processes of one owner in a row": all, "some of a batch": all, "its labels are kept": lone,
		},
	})
}
