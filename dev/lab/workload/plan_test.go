package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/internal/golden"
)

func mustNew(t *testing.T, s Settings) Plan {
	t.Helper()
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// until returns the edits that are due before a time.
func until(p Plan, end time.Duration) (all []Edit) {
	for e := range p.Edits() {
		if e.At >= end {
			break
		}
		all = append(all, e)
	}
	return all
}

// transcript returns the edits as text, with the values that they set.
func transcript(t *testing.T, edits []Edit) string {
	t.Helper()
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintln(&b, e)
		if len(e.Fields) > 0 {
			patch, err := patchOf(e)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "    %s\n", patch)
		}
	}
	return b.String()
}

// TestGolden shows that a seed always gives the same edits.
func TestGolden(t *testing.T) {
	p := mustNew(t, Settings{Seed: 3})
	text := func() string {
		return "the beginning:\n" + transcript(t, p.Initial()[:6]) + "afterwards:\n" + transcript(t, until(p, 5*time.Second)[120:220])
	}
	first := text()
	if first != text() {
		t.Error("the same seed gives other edits")
	}
	golden.Check(t, "edits-3.txt", first)
}

// TestRate shows that the rate is right on average over a minute and more, with bursts and pauses.
func TestRate(t *testing.T) {
	const length = 3 * time.Minute
	for _, rate := range []float64{2, 10, 40} {
		for seed := range uint64(5) {
			p := mustNew(t, Settings{Seed: seed, Rate: rate})
			perSecond := map[int]int{}
			edits := until(p, length)
			for _, e := range edits {
				perSecond[int(e.At.Seconds())]++
			}
			got := float64(len(edits)) / length.Seconds()
			if got < 0.85*rate || got > 1.25*rate+2 {
				t.Errorf("seed %d: %.1f edits a second, want about %g", seed, got, rate)
			}
			busy, quiet := 0, 0
			for second := range int(length.Seconds()) {
				busy = max(busy, perSecond[second])
				if float64(perSecond[second]) <= rate/2 {
					quiet++
				}
			}
			if float64(busy) < 1.5*rate || quiet < 20 {
				t.Errorf("seed %d, rate %g: %d edits in one second at most, %d quiet seconds: want bursts and pauses", seed, rate, busy, quiet)
			}
		}
	}
}

// TestEditsFit shows that each edit is possible after those before it: it creates a missing object, changes
// an existing one, and sets fields that its object has.
func TestEditsFit(t *testing.T) {
	for seed := range uint64(12) {
		p := mustNew(t, Settings{Seed: seed})
		there := map[string]Object{}
		last := time.Duration(0)
		number := 0
		initial := p.Initial()
		for i, e := range append(initial[:len(initial):len(initial)], until(p, 5*time.Minute)...) {
			if e.At < last {
				t.Fatalf("seed %d: edit %s is before the one before it", seed, e)
			}
			last = e.At
			if i == len(initial) {
				number = 0
			}
			if number++; e.Number != number {
				t.Fatalf("seed %d: edit %s has not the number %d", seed, e, number)
			}
			if e.Object == nil {
				continue
			}
			if wrong := fits(there, e); wrong != "" {
				t.Fatalf("seed %d: edit %s: %s", seed, e, wrong)
			}
			if there[name(e.Object)] = e.Object; e.Gone {
				delete(there, name(e.Object))
			}
		}
	}
}

// fits returns why an edit is impossible.
func fits(there map[string]Object, e Edit) string {
	old := there[name(e.Object)]
	switch {
	case e.Verb == Create && old != nil:
		return "the object is there"
	case e.Verb != Create && old == nil:
		return "the object isn't there"
	case (e.Verb == Set || e.Verb == SetStatus) != (len(e.Fields) > 0):
		return "the fields are wrong"
	case resources[e.Object.GetObjectKind().GroupVersionKind().Kind] == "":
		return "nobody knows the kind"
	case e.Verb == Set && !e.Gone && old.GetDeletionTimestamp() != nil && e.Object.GetDeletionTimestamp() == nil:
		return "the object has risen again"
	}
	return ""
}

// TestAddresses shows that an address is reused only five seconds after its pod was deleted.
func TestAddresses(t *testing.T) {
	reused := 0
	for seed := range uint64(12) {
		holder := map[string]string{} // address → object
		gone := map[string]time.Duration{}
		numbers := map[string]int{}
		for _, e := range until(mustNew(t, Settings{Seed: seed}), 3*time.Minute) {
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || pod.Status.PodIP == "" {
				continue
			}
			address := pod.Status.PodIP
			if e.Gone {
				gone[address], numbers[address] = e.At, e.Number
				continue
			}
			if before := holder[address]; before != "" && before != string(pod.Annotations[createdBy]) {
				reused++
				since, is := gone[address]
				if !is || e.At-since < 5*time.Second || e.After != numbers[address] || e.Gap != 5*time.Second {
					t.Fatalf("seed %d: edit %s uses %s again, %s after edit %d", seed, e, address, e.At-since, numbers[address])
				}
				delete(gone, address)
			}
			holder[address] = pod.Annotations[createdBy]
		}
	}
	if reused < 12 {
		t.Errorf("only %d addresses are used again", reused)
	}
}

// TestCoverage shows that all interesting edits happen within three minutes.
func TestCoverage(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(6) {
		for _, e := range until(mustNew(t, Settings{Seed: seed}), 3*time.Minute) {
			for _, what := range describe(e) {
				seen[what]++
			}
		}
	}
	for _, want := range []string{
		"create Pod", "set status Pod /status/podIP", "set status Pod /status/conditions", "delete Pod", "delete Pod with grace", "set Pod /metadata/labels",
		"set Pod /metadata/finalizers", "create Service", "delete Service", "set Service /spec/ports", "set Service /spec/selector",
		"set Service /metadata/annotations", "set Service /spec/publishNotReadyAddresses", "set status Service /status/loadBalancer",
		"set EndpointSlice /endpoints", "set Endpoints /subsets", "create ExternalWorkload", "set status ExternalWorkload /status", "set ExternalWorkload /spec",
		"delete ExternalWorkload", "set ServiceProfile /spec", "create ServiceProfile", "delete ServiceProfile", "set Server /spec", "create Server", "delete Server",
		"create DNSEndpoint", "delete DNSEndpoint", "set DNSEndpoint /spec",
		"zone human-N A unused", "zone human-N A mine", "zone human-N CNAME unused", "zone human-N TXT mine", "zone human-N MX mine", "zone human-N AAAA mine",
		"zone lb-N A unused", "zone lb-N A mine", "zone lb-N A theirs", "zone lb-N TXT beside",
		"record A", "record AAAA", "record CNAME", "record TXT", "record MX",
	} {
		if seen[want] < 3 {
			t.Errorf("%q happens %d times in six runs", want, seen[want])
		}
	}
}

func describe(e Edit) (all []string) {
	if e.Zone != nil {
		family, _, _ := strings.Cut(e.Zone.Name, "-")
		return []string{fmt.Sprintf("zone %s-N %s %s", family, e.Zone.Type, e.Zone.Require)}
	}
	what := string(e.Verb) + " " + e.Object.GetObjectKind().GroupVersionKind().Kind
	all = append(all, what)
	if e.Grace > 0 {
		all = append(all, what+" with grace")
	}
	for _, f := range e.Fields {
		all = append(all, what+" "+f)
	}
	content, _ := json.Marshal(e.Object)
	for _, kind := range []string{"A", "AAAA", "CNAME", "TXT", "MX"} {
		if strings.Contains(string(content), fmt.Sprintf(`"recordType":%q`, kind)) {
			all = append(all, "record "+kind)
		}
	}
	return all
}

// TestEditPublished shows that the person changes records of Signpost with every third seed only.
func TestEditPublished(t *testing.T) {
	for seed := range uint64(6) {
		edited := slices.ContainsFunc(until(mustNew(t, Settings{Seed: seed}), 5*time.Minute), func(e Edit) bool {
			return e.Zone != nil && e.Zone.Require == Theirs
		})
		if edited != (seed%3 == 0) {
			t.Errorf("seed %d: %t", seed, edited)
		}
	}
}

// TestZoneRecords parses the initial zone: 20 records without an ownership record and 10 with one.
func TestZoneRecords(t *testing.T) {
	text := mustNew(t, Settings{}).ZoneRecords()
	plain, markers := 0, 0
	parser := mdns.NewZoneParser(strings.NewReader("$TTL 300\n"+text+"\n"), "lab.example.", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		if txt, is := rr.(*mdns.TXT); is && strings.HasPrefix(txt.Txt[0], "heritage=external-dns,external-dns/owner="+OtherOwner+",") {
			if !strings.HasPrefix(rr.Header().Name, "a-") {
				t.Errorf("the marker %s is at the wrong name", rr)
			}
			markers++
			continue
		}
		plain++
	}
	if err := parser.Err(); err != nil {
		t.Fatal(err)
	}
	if markers != 10 || plain != 30 {
		t.Errorf("%d markers and %d other records, want 10 and 20 more:\n%s", markers, plain, text)
	}
}

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		want     string
	}{
		"rate": {Settings{Rate: 5000}, "5000 edits a second"},
		"zone": {Settings{Zone: "lab.example"}, `"lab.example" is not an absolute name`},
	} {
		if _, err := New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := mustNew(t, Settings{Seed: 9}).settings
	if s != (Settings{Seed: 9, Namespace: "lab", Zone: "lab.example.", Rate: 10}) {
		t.Errorf("the defaults are %+v", s)
	}
}
