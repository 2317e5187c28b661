package dns_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

func TestChangeLists(t *testing.T) {
	set := func(name string) *dns.RecordSet { return &dns.RecordSet{Name: name} }
	changes := []dns.Change{
		{New: set("c1")},
		{Old: set("d1")},
		{Old: set("o1"), New: set("n1")},
		{},
		{Old: set("o2"), New: set("n2")},
		{New: set("c2")},
	}
	data, err := json.Marshal(dns.Lists(changes))
	wantError(t, err, "")
	want := `{"create":[{"dnsName":"c1"},{"dnsName":"c2"}],"updateOld":[{"dnsName":"o1"},{"dnsName":"o2"}],` +
		`"updateNew":[{"dnsName":"n1"},{"dnsName":"n2"}],"delete":[{"dnsName":"d1"}]}`
	if string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
	var lists dns.ChangeLists
	wantError(t, json.Unmarshal(data, &lists), "")
	got, err := lists.Changes()
	wantError(t, err, "")
	if diff := cmp.Diff([]dns.Change{changes[1], changes[2], changes[4], changes[0], changes[5]}, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

func TestChangeListsDecode(t *testing.T) {
	tests := map[string]struct {
		json string
		want int
		err  string
	}{
		"nothing":             {json: `{}`},
		"capital keys":        {json: `{"Create":[{"DNSName":"a"}],"UpdateOld":[{}],"UpdateNew":[{}],"Delete":[{}]}`, want: 3},
		"lengths":             {json: `{"updateOld":[{}]}`, err: "updateOld has 1 record sets and updateNew has 0"},
		"null to be created":  {json: `{"create":[null]}`, err: "record set 0 of create is null"},
		"null to be deleted":  {json: `{"delete":[{},null]}`, err: "record set 1 of delete is null"},
		"null to be replaced": {json: `{"updateOld":[{}],"updateNew":[null]}`, err: "record set 0 of updateOld or updateNew is null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var lists dns.ChangeLists
			wantError(t, json.Unmarshal([]byte(test.json), &lists), "")
			got, err := lists.Changes()
			wantError(t, err, test.err)
			if len(got) != test.want {
				t.Errorf("got %d changes, want %d", len(got), test.want)
			}
		})
	}
}

// Changes survive encoding and decoding.
func FuzzChangeLists(f *testing.F) {
	f.Add([]byte(`{"Create":[{"dnsName":"a","targets":["1.2.3.4"]}],"updateOld":[{"labels":{"a":"b"}}],"updateNew":[{"recordTTL":-1}]}`))
	f.Add([]byte(`{"delete":[null],"create":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var lists dns.ChangeLists
		if json.Unmarshal(data, &lists) != nil {
			return
		}
		changes, err := lists.Changes()
		if err != nil {
			return
		}
		written, err := json.Marshal(dns.Lists(changes))
		wantError(t, err, "")
		var read dns.ChangeLists
		wantError(t, json.Unmarshal(written, &read), "")
		again, err := json.Marshal(read)
		wantError(t, err, "")
		if string(again) != string(written) {
			t.Errorf("%s became %s", written, again)
		}
	})
}
