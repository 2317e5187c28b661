package validate

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// TestSettledRecords compares the records of a zone with those that the objects ask for, except names of
// other owners.
func TestSettledRecords(t *testing.T) {
	const (
		lb        = "lb-0 A 203.0.113.1"
		ownership = "a-lb-0 " + labOwnership
		object    = `{"metadata":{"namespace":"lab","name":"lb-0","annotations":{"external-dns.alpha.kubernetes.io/hostname":"lb-0.lab.example",` +
			`"external-dns.alpha.kubernetes.io/ttl":"300"}},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1"}]}}}`
		text = `{"metadata":{"namespace":"lab","name":"dns-0"},"spec":{"endpoints":[{"dnsName":"lb-0.lab.example","recordType":"TXT","targets":["text of 5"]}]}}`
	)
	tests := []struct {
		name     string
		resource string
		object   string
		records  []string
		want     string
	}{
		{"right", "services", object, []string{lb, ownership}, ""},
		{"missing", "services", object, nil, "it is missing: service/lab/lb-0 asks for 203.0.113.1"},
		{"only an ownership record", "services", object, []string{ownership}, "it is missing"},
		{"a person has it", "services", object, []string{"lb-0 A 198.51.100.1"}, ""},
		{"a person has another type", "services", object, []string{`lb-0 TXT "mine"`}, ""},
		{"another owner has it", "services", object, []string{"lb-0 A 198.51.100.1", `a-lb-0 TXT "heritage=external-dns,external-dns/owner=somebody"`}, ""},
		{"another address", "services", object, []string{"lb-0 A 203.0.113.2", ownership}, "should be 203.0.113.1"},
		{"one address too many", "services", object, []string{lb, "lb-0 A 203.0.113.2", ownership}, "should be 203.0.113.1"},
		{"a type that nobody asks for", "services", object, []string{lb, ownership, "lb-0 AAAA 2001:db8::1", "aaaa-lb-0 " + labOwnership}, "no object asks for it"},
		{"text", "dnsendpoints", text, []string{`lb-0 TXT "text of 5"`, "txt-lb-0 " + labOwnership}, ""},
		{"other text", "dnsendpoints", text, []string{`lb-0 TXT "text of 6"`, "txt-lb-0 " + labOwnership}, "should be text of 5"},
		{"what is left of a deleted object", "dnsendpoints", text, []string{`lb-0 TXT "text of 5"`, "txt-lb-0 " + labOwnership, "old A 192.0.2.1", "a-old " + labOwnership}, "old.lab.example. A"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r zoneRun
			r.add(history.Entry{Object: &history.Object{Resource: tt.resource, Namespace: "lab", Name: "lb-0", Revision: 1, Content: json.RawMessage(tt.object)}})
			r.whole(tt.records...)
			r.calm()
			h := r.history()
			// An entry after the calm is ignored.
			h.Entries = append(h.Entries, history.Entry{At: r.now + time.Second, Zone: &history.Zone{Name: "lab.example.", Serial: 9, Whole: true}})
			// A Service without selector has no slices.
			wantFinding(t, settledWriters(), h, tt.want)
		})
	}
	// The requested TTL is checked.
	var r zoneRun
	r.add(history.Entry{Object: &history.Object{Resource: "services", Namespace: "lab", Name: "lb-0", Revision: 1, Content: json.RawMessage(object)}})
	r.whole(lb, ownership)
	r.entries[1].Zone.Added[0] = "lb-0.lab.example. 60 IN A 203.0.113.1"
	r.calm()
	wantFinding(t, settledWriters(), r.history(), "with TTL 300")
}

// TestWriters checks the names and rules of all validators of Writers.
func TestWriters(t *testing.T) {
	var names []string
	for _, v := range Writers() {
		names = append(names, v.Name)
		if v.Rule == "" || v.Check == nil {
			t.Errorf("%s has no rule or no check", v.Name)
		}
	}
	if got, want := len(names), 4; got != want {
		t.Errorf("%d validators, want %d: %v", got, want, names)
	}
}
