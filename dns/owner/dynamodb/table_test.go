package dynamodb

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// zone is what a provider lists.
type zone []*dns.RecordSet

func (z zone) lookup(name string) []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, r := range z {
		if dns.Canonical(r.Name) == name {
			sets = append(sets, r)
		}
	}
	return sets
}

// set is the record set "NAME TYPE TARGET [RESOURCE]".
func set(line string) *dns.RecordSet {
	f := strings.Fields(line)
	r := &dns.RecordSet{Name: f[0], Type: f[1], Targets: []string{f[2]}}
	if len(f) > 3 {
		r.Labels = map[string]string{dns.LabelResource: f[3]}
	}
	return r
}

func show(c dns.Change) string {
	sign := "~"
	switch {
	case c.Old == nil:
		sign = "+"
	case c.New == nil:
		sign = "-"
	}
	return fmt.Sprintf("%s %s %s", sign, c.RecordSet().Name, c.RecordSet().Type)
}

func showAll(changes []dns.Change) []string {
	lines := []string{}
	for _, c := range changes {
		lines = append(lines, show(c))
	}
	return lines
}

// row is an item of the fake table.
type row struct {
	owner  string
	labels map[string]string
}

func newTable(t testing.TB) (*dynamodbtest.Table, *dynamodb.Client) {
	f := dynamodbtest.New(t)
	return f, f.Client(nil)
}

// newOwner returns an owner "me" that has read its table.
func newOwner(t *testing.T, o Options, rows map[string]row) (*claims.Owner, *dynamodbtest.Table) {
	t.Helper()
	f, client := newTable(t)
	for k, r := range rows {
		f.Put(k, dynamodbtest.Row{Owner: r.owner, Labels: r.labels})
	}
	o.OwnerID = "me"
	owner, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner.Changed()
	f.Take()
	return owner, f
}

func labels(resource string) map[string]string {
	return map[string]string{dns.LabelResource: resource}
}

// "case 89": a table that isn't as it has to be.
func TestCheck(t *testing.T) {
	for _, test := range []struct{ name, description, want string }{
		{"as it has to be", dynamodbtest.GoodDescription, ""},
		{"case 89: no k", `{"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}`, "has no attribute k"},
		{"case 89: wrong type", `{"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "N"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}`, "attribute k has type N"},
		{
			"case 89: wrong hash key",
			`{"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}, {"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}`,
			"has the hash key id",
		},
		{
			"case 89: range key",
			`{"AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}, {"AttributeName": "o", "KeyType": "RANGE"}]}`,
			"has the range key o",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, client := newTable(t)
			f.Description = test.description
			o, err := New(client, Options{OwnerID: "me"})
			if err != nil {
				t.Fatal(err)
			}
			err = o.Load(t.Context())
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got error %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	f, client := newTable(t)
	f.PageSize = 2
	f.Items = map[string]dynamodbtest.Row{
		"WWW.z.org#A#":   {Owner: "me", Labels: labels("svc")},
		"s.z.org#A#a#b":  {Owner: "me"},
		"www.z.org#MX#":  {Owner: "owner"},
		"t.z.org#A#":     {Owner: "owner"},
		"malformed":      {Owner: "me"},
		"u.z.org#CNAME#": {Owner: "me", Labels: labels("u")},
	}
	o, err := New(client, Options{OwnerID: "me", Refresh: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	o.Store.(*table).now = func() time.Time { return now }
	load := func(want ...string) {
		t.Helper()
		if err := o.Load(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, f.Take()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
	load("DescribeTable", "Scan", "Scan", "Scan")
	for line, want := range map[string]map[string]string{
		"www.Z.org A 1.1.1.1": {"owner": "me", "resource": "svc"},
		"u.z.org CNAME x.y":   {"owner": "me", "resource": "u"},
		"s.z.org A 1.1.1.1":   nil,
		"www.z.org MX mx":     nil,
		"t.z.org A 1.1.1.1":   nil,
	} {
		got, rewrite := o.Labels(zone{}.lookup, set(line))
		if diff := cmp.Diff(want, got); diff != "" || rewrite {
			t.Errorf("%s: rewrite %v, labels (-want +got):\n%s", line, rewrite, diff)
		}
	}
	ided := set("s.z.org A 1.1.1.1")
	ided.SetIdentifier = "a#b"
	if got, _ := o.Labels(zone{}.lookup, ided); got["owner"] != "me" {
		t.Errorf("with a set identifier: got %v", got)
	}
	if diff := cmp.Diff([]string{"s.z.org", "u.z.org", "www.z.org"}, o.Changed()); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	load()
	now = now.Add(time.Hour)
	f.Items["u.z.org#CNAME#"] = dynamodbtest.Row{Owner: "owner"}
	f.PageSize = 100
	load("Scan")
	if diff := cmp.Diff([]string{"u.z.org"}, o.Changed()); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	// What was read stays known while the table can't be read.
	now, f.Down = now.Add(time.Hour), true
	if err := o.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "scan DynamoDB table external-dns") {
		t.Errorf("got error %v", err)
	}
	if got, _ := o.Labels(zone{}.lookup, set("www.z.org A 1.1.1.1")); got["owner"] != "me" {
		t.Errorf("after an error: got %v", got)
	}
	f.Down = false
	load("Scan")
}

func ownText(id string) string {
	return `"` + owner.FormatText(map[string]string{dns.LabelOwner: id, dns.LabelResource: "svc"}) + `"`
}

func newTXT() *owner.TXT {
	txt, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", OldOwnerID: "old"})
	if err != nil {
		panic(err)
	}
	return txt
}

func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

// "case 90": 30 items are batches of 25 and 5.
func TestBatches(t *testing.T) {
	o, f := newOwner(t, Options{}, map[string]row{})
	var changes []dns.Change
	for i := range 30 {
		changes = append(changes, dns.Change{New: set(fmt.Sprintf("w%d.z.org A 1.1.1.1", i))})
	}
	apply, refused, err := o.Before(t.Context(), zone{}.lookup, changes)
	if err != nil || len(apply) != 30 || len(refused) != 0 {
		t.Fatalf("got %d changes, %d refused, error %v", len(apply), len(refused), err)
	}
	calls := slices.DeleteFunc(f.Take(), func(call string) bool { return !strings.HasPrefix(call, "batch") })
	compare(t, "batches", []string{"batch of 25", "batch of 5"}, calls)
	if got := len(o.Changed()); got != 30 {
		t.Errorf("%d names have changed, want 30", got)
	}
}

// After an error, and after losing to somebody else, the table is read again.
func TestReadAgain(t *testing.T) {
	for name, change := range map[string]func(f *dynamodbtest.Table){
		"an item fails": func(f *dynamodbtest.Table) { f.Fail = map[string]string{"INSERT www.z.org#A#": "InternalServerError"} },
		"all fail":      func(f *dynamodbtest.Table) { f.Down = true },
		"lost": func(f *dynamodbtest.Table) {
			f.Items["www.z.org#A#"] = dynamodbtest.Row{Owner: "me"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, f := newOwner(t, Options{}, map[string]row{})
			change(f)
			if _, refused, err := o.Before(t.Context(), zone{}.lookup, []dns.Change{{New: set("www.z.org A 1.1.1.1")}}); err == nil && len(refused) == 0 {
				t.Error("got no error")
			}
			f.Down, f.Fail = false, nil
			f.Take()
			if err := o.Load(t.Context()); err != nil {
				t.Error(err)
			}
			compare(t, "calls", []string{"Scan"}, f.Take())
			if apply, _, err := o.Before(t.Context(), zone{}.lookup, []dns.Change{{New: set("www.z.org A 1.1.1.1")}}); err != nil || len(apply) != 1 {
				t.Errorf("again: got %v, error %v", showAll(apply), err)
			}
		})
	}
}

// "case 91": record sets with TXT records are rewritten, which takes them over. Those of other
// owners stay theirs.
func TestTakeOver(t *testing.T) {
	z := zone{
		set("www.z.org A 1.1.1.1"), set("a-www.z.org TXT " + ownText("me")), set("v.z.org A 1.1.1.1"), set("a-v.z.org TXT " + ownText("owner")),
		set("u.z.org A 1.1.1.1"), set("a-u.z.org TXT " + ownText("me")),
	}
	o, _ := newOwner(t, Options{TXT: newTXT()}, map[string]row{"u.z.org#A#": {"me", labels("table")}})
	for name, want := range map[string]struct {
		owner, resource string
		rewrite         bool
	}{"www.z.org": {"me", "svc", true}, "v.z.org": {"owner", "svc", false}, "u.z.org": {"me", "table", false}} {
		got, rewrite := o.Labels(z.lookup, z.lookup(name)[0])
		if got["owner"] != want.owner || got["resource"] != want.resource || rewrite != want.rewrite {
			t.Errorf("%s: got %v, rewrite %v; want %+v", name, got, rewrite, want)
		}
	}
	if names, ownership := o.OwnershipRecord(z[1]); !ownership || !slices.Equal(names, []string{"www.z.org"}) {
		t.Errorf("a TXT record: got %v, %v", names, ownership)
	}
	plain, _ := newOwner(t, Options{}, map[string]row{})
	if _, ownership := plain.OwnershipRecord(z[1]); ownership {
		t.Error("a TXT record is an ownership record though nothing is taken over")
	}
	if got, rewrite := plain.Labels(z.lookup, z[0]); got != nil || rewrite {
		t.Errorf("nothing is taken over: got %v, rewrite %v", got, rewrite)
	}
}

func TestNew(t *testing.T) {
	_, client := newTable(t)
	if _, err := New(nil, Options{OwnerID: "me"}); err == nil {
		t.Error("no client: got no error")
	}
	for want, o := range map[string]Options{
		"owner ID is empty":    {},
		"can't be taken over":  {OwnerID: "other", TXT: newTXT()},
		"must not be negative": {OwnerID: "me", Refresh: -1},
	} {
		if _, err := New(client, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want one with %q", o, err, want)
		}
	}
}

// The publisher asks for labels while it has others written.
func TestConcurrent(t *testing.T) {
	o, _ := newOwner(t, Options{Refresh: 1}, map[string]row{"www.z.org#A#": {"me", labels("svc")}})
	z := zone{set("www.z.org A 1.1.1.1")}
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 20 {
				c := dns.Change{New: set(fmt.Sprintf("w%d-%d.z.org A 1.1.1.1", i, j))}
				apply, _, err := o.Before(t.Context(), z.lookup, []dns.Change{c})
				if err != nil || len(apply) != 1 {
					t.Errorf("got %v, error %v", showAll(apply), err)
				}
				if err := o.After(t.Context(), apply); err != nil {
					t.Error(err)
				}
				if err := o.Load(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 200 {
				if got, _ := o.Labels(z.lookup, z[0]); got["resource"] != "svc" {
					t.Errorf("got %v", got)
				}
				o.Changed()
			}
		})
	}
	group.Wait()
	for i := range 4 {
		if got, _ := o.Labels(z.lookup, set(fmt.Sprintf("w%d-19.z.org A 1.1.1.1", i))); got["owner"] != "me" {
			t.Errorf("w%d-19: got %v", i, got)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, text := range []string{"www.z.org#A#", "WWW.z.org#A#a#b", "malformed", "#A#", "a##", "x#A"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key := keyOf(text)
		if dns.CheckName(key.Name) != nil {
			return
		}
		again := keyOf(textOf(&claims.Claim{Key: key}))
		if again != key {
			t.Errorf("%q is %+v, and that is %+v", text, key, again)
		}
	})
}

// If another server responds with success, such as a proxy, the table isn't empty.
func TestOtherServer(t *testing.T) {
	f, _ := newTable(t)
	for _, body := range []string{"", "{}"} {
		other := false
		o, err := New(f.Client(func(next http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if !other {
					return next.RoundTrip(r)
				}
				_ = r.Body.Close()
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})
		}), Options{OwnerID: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Load(t.Context()); err != nil {
			t.Errorf("%q: an empty table: %v", body, err)
		}
		other = true
		o.Outdate()
		if err := o.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "no list of items") {
			t.Errorf("%q: %v", body, err)
		}
	}
}
