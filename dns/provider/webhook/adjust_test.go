package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// judge is a program that answers a whole list with a status if one of its names is bad.
type judge struct {
	status int
	asked  int
}

func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	body := []byte("{}")
	if req.Method == http.MethodPost {
		j.asked++
		body, _ = io.ReadAll(req.Body)
		if bytes.Contains(body, []byte("bad")) {
			return &http.Response{StatusCode: j.status, Body: http.NoBody, Request: req}, nil
		}
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {MediaType}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}, nil
}

// One record set that the program refuses, or at which it fails, kept all others of the publisher from being
// published. It alone has an error (D1).
func TestAdjustFindsTheOne(t *testing.T) {
	for name, tt := range map[string]struct {
		status, good, bad int
		// most is how many questions that takes at most. refused are those without an answer.
		most, refused int
		// whole is true when nothing is known of any of them.
		whole error
	}{
		"one of 51 is refused":                {status: 422, good: 50, bad: 1, most: 13, refused: 1},
		"it fails at one of 51":               {status: 500, good: 50, bad: 1, most: 13, refused: 1},
		"it fails at two of 1000":             {status: 500, good: 998, bad: 2, most: 41, refused: 2},
		"it fails at the only one":            {status: 500, bad: 1, most: 1, refused: 1},
		"it fails at the only two":            {status: 500, bad: 2, most: 3, refused: 2},
		"too many to find them all":           {status: 400, good: 1000, bad: 1000, most: maxRequests, refused: -1},
		"it fails at all":                     {status: 500, bad: 20, most: 39, whole: errors.New("status 500")},
		"it has too many requests":            {status: 429, good: 50, bad: 1, most: 1, whole: provider.ErrThrottled},
		"it doesn't let us in":                {status: 401, good: 50, bad: 1, most: 1, whole: provider.ErrCredentials},
		"an answer that the protocol has not": {status: 204, good: 50, bad: 1, most: 1, whole: errors.New("status 204")},
	} {
		t.Run(name, func(t *testing.T) {
			var wanted []*dns.RecordSet
			for i := range tt.good {
				wanted = append(wanted, set(fmt.Sprintf("good%d.test", i), "A", "192.0.2.1"))
			}
			for i := range tt.bad {
				at := len(wanted) * (i + 1) / (tt.bad + 1)
				wanted = append(wanted[:at], append([]*dns.RecordSet{set(fmt.Sprintf("bad%d.test", i), "A", "192.0.2.1")}, wanted[at:]...)...)
			}
			j := &judge{status: tt.status}
			in := input(nil)
			in.Wrap = func(http.RoundTripper) http.RoundTripper { return j }
			answers, err := open(t, in).Adjust(t.Context(), dns.Zone{}, wanted)
			if j.asked > tt.most {
				t.Errorf("%d questions, want %d at most", j.asked, tt.most)
			}
			if tt.whole != nil {
				if err == nil || !errors.Is(err, tt.whole) && !strings.Contains(err.Error(), tt.whole.Error()) {
					t.Errorf("error %v, want %v", err, tt.whole)
				}
				return
			}
			if err != nil || len(answers) != len(wanted) {
				t.Fatalf("%d answers, %v", len(answers), err)
			}
			refused := 0
			for i, answer := range answers {
				bad := strings.HasPrefix(wanted[i].Name, "bad")
				if answer.Err != nil {
					refused++
				}
				if (answer.Err == nil) != (len(answer.Sets) == 1) || bad && answer.Err == nil || tt.refused >= 0 && !bad && answer.Err != nil {
					t.Fatalf("%s: %v", wanted[i].Name, answer)
				}
			}
			if tt.refused >= 0 && refused != tt.refused {
				t.Errorf("%d are refused, want %d", refused, tt.refused)
			}
		})
	}
}

// However many record sets of one namespace the program refuses, those of other namespaces are
// adjusted, wherever they are in the list.
func TestAdjustOfOtherNamespaces(t *testing.T) {
	of := func(namespace, name string) *dns.RecordSet {
		r := set(name, "A", "192.0.2.1")
		r.Objects = []dns.Object{{Kind: "Service", Namespace: namespace, Name: name}}
		return r
	}
	var wanted []*dns.RecordSet
	for i := range 600 {
		wanted = append(wanted, of("tenant", fmt.Sprintf("bad%d.test", i)))
		if i%60 == 0 {
			wanted = append(wanted, of(fmt.Sprint("n", i%180), fmt.Sprintf("good%d.test", i)))
		}
	}
	j := &judge{status: 500}
	in := input(nil)
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return j }
	answers, err := open(t, in).Adjust(t.Context(), dns.Zone{}, wanted)
	if err != nil || j.asked > maxRequests {
		t.Fatalf("%d requests, %v", j.asked, err)
	}
	for i, answer := range answers {
		if bad := strings.HasPrefix(wanted[i].Name, "bad"); bad != (answer.Err != nil) || !bad && (len(answer.Sets) != 1 || answer.Sets[0].Name != wanted[i].Name) {
			t.Errorf("%s: %v", wanted[i].Name, answer)
		}
	}
}

// A name whose adjusted record set can't be used would lose its record sets if it counted as
// not stored.
func TestAdjustedToNothingUsable(t *testing.T) {
	www, api := set("www.test", "A", "192.0.2.1"), set("api.test", "A", "192.0.2.1")
	for body, refused := range map[string][]bool{
		`[{"dnsName":"www.test"},{"dnsName":"api.test","recordType":"A"}]`: {true, false},
		`[null]`: {true, true}, `[]`: {false, false},
	} {
		answers, err := open(t, input(speaking().with("POST /adjustendpoints", reply{status: 200, body: body}))).
			Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{www, api})
		if err != nil {
			t.Fatal(err)
		}
		for i, answer := range answers {
			if (answer.Err != nil) != refused[i] {
				text, _ := json.Marshal(answer.Sets)
				t.Errorf("%s: %s, %v", body, text, answer.Err)
			}
		}
	}
	if got, err := open(t, input(speaking())).Adjust(t.Context(), dns.Zone{}, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing was adjusted to %v, error %v", got, err)
	}
}

// Programs see ownership records only when they are applied, as ExternalDNS has it. Nobody waits
// for an answer about them.
func TestOwnershipRecordsAreNotAdjusted(t *testing.T) {
	j := &judge{status: 500}
	in := input(nil)
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return j }
	ownership := set("a-bad.test", "TXT", `"heritage=external-dns,external-dns/owner=one"`)
	ownership.Labels = map[string]string{dns.LabelOwnedRecord: "bad.test"}
	p := open(t, in)
	for _, wanted := range [][]*dns.RecordSet{{ownership}, {set("good.test", "A", "192.0.2.1"), ownership, set("fine.test", "A", "192.0.2.2")}} {
		before := j.asked
		answers, err := p.Adjust(t.Context(), dns.Zone{}, wanted)
		if err != nil || len(answers) != len(wanted) {
			t.Fatalf("%d answers about %d record sets, error %v", len(answers), len(wanted), err)
		}
		for i, a := range answers {
			if a.Err != nil || len(a.Sets) != 1 || a.Sets[0].Name != wanted[i].Name {
				t.Errorf("%s: %v, error %v", wanted[i].Name, a.Sets, a.Err)
			}
		}
		if asked := j.asked - before; asked != len(wanted)/2 {
			t.Errorf("%d questions about %d record sets", asked, len(wanted))
		}
	}
}

// Of several objects that ask for one key, the last one got the answers about all of them (tenants S1).
func TestRivalsGetTheirOwnAnswers(t *testing.T) {
	labelled := func(target, resource string) *dns.RecordSet {
		r := set("www.test", "A", target)
		r.Labels = map[string]string{dns.LabelResource: resource}
		return r
	}
	wanted := []*dns.RecordSet{labelled("192.0.2.1", "service/bank/web"), labelled("192.0.2.66", "service/zzz/evil")}
	for name, change := range map[string]func(*dns.RecordSet){
		"with labels":                  func(*dns.RecordSet) {},
		"with labels, as another type": func(r *dns.RecordSet) { r.Type = "AAAA" },
		"without labels, in order":     func(r *dns.RecordSet) { r.Labels = nil },
	} {
		var adjusted []*dns.RecordSet
		for _, w := range wanted {
			r := w.Clone()
			change(r)
			adjusted = append(adjusted, r)
		}
		if !strings.Contains(name, "order") {
			adjusted[0], adjusted[1] = adjusted[1], adjusted[0]
		}
		var s search
		answers := make([]provider.Adjusted, len(wanted))
		s.take(wanted, adjusted, answers)
		for i, a := range answers {
			if len(a.Sets) != 1 || a.Sets[0].Targets[0] != wanted[i].Targets[0] {
				t.Errorf("%s: the answer about %s is %+v", name, wanted[i].Labels[dns.LabelResource], a.Sets)
			}
		}
	}
}

// A response with another key or other targets is rechecked, because a repaired program would give
// another one. A response in another spelling, or with another TTL, is not.
func TestAlteredIsRechecked(t *testing.T) {
	for name, tt := range map[string]struct {
		response string
		recheck  bool
	}{
		"unchanged":     {`[{"dnsName":"www.test","recordType":"CNAME","targets":["lb.example.net"]}]`, false},
		"spelling":      {`[{"dnsName":"WWW.test.","recordType":"CNAME","targets":["LB.example.net"],"recordTTL":60}]`, false},
		"other targets": {`[{"dnsName":"www.test","recordType":"CNAME","targets":["lb.example.org"]}]`, true},
		"other type":    {`[{"dnsName":"www.test","recordType":"A","targets":["192.0.2.1"]}]`, true},
		"nothing":       {`[{"dnsName":"other.test","recordType":"CNAME","targets":["lb.example.net"]}]`, false}, // always rechecked
		"two":           {`[{"dnsName":"www.test","recordType":"CNAME","targets":["lb.example.net"]},{"dnsName":"www.test","recordType":"TXT","targets":["x"]}]`, true},
		"no type":       {`[{"dnsName":"www.test","targets":["192.0.2.1"]}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(nil)
			in.Wrap = func(http.RoundTripper) http.RoundTripper { return fixed(tt.response) }
			results, err := open(t, in).Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{set("www.test", "CNAME", "lb.example.net")})
			if err != nil || len(results) != 1 || results[0].Recheck != tt.recheck {
				t.Errorf("%+v, %v; want Recheck %v", results, err, tt.recheck)
			}
		})
	}
}

// fixed is a program with one response to all adjustments.
type fixed string

func (f fixed) RoundTrip(req *http.Request) (*http.Response, error) {
	body := "{}"
	if req.Method == http.MethodPost {
		body = string(f)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {MediaType}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}
