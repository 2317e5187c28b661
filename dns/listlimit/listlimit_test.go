package listlimit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

func zone(name string) dns.Zone { return dns.Zone{ID: name, Name: name} }

// wantExceeded checks that an error is about a limit, and says these things.
func wantExceeded(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, listlimit.ErrExceeded) {
		t.Errorf("the error is %v", err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
}

func wantUsed(t *testing.T, b *listlimit.Budget, records, bytes int) {
	t.Helper()
	if r, n := b.Used(); r != records || n != bytes {
		t.Errorf("%d record sets with %d bytes are used, want %d with %d", r, n, records, bytes)
	}
}

// A zone may have so many record sets, and 400 bytes of memory for each of them.
func TestZone(t *testing.T) {
	b := listlimit.New(listlimit.Limits{ZoneRecords: 10})
	l := b.Zone(zone("a.test"))
	if err := l.Add(10, 4000); err != nil {
		t.Fatal(err)
	}
	wantExceeded(t, l.Add(1, 0), "zone a.test", "more than 10 record sets", "--max-zone-records")
	wantExceeded(t, b.Zone(zone("a.test")).Add(1, 4001), "zone a.test", "4000 bytes", "--max-zone-records")
	wantExceeded(t, b.Zone(zone(strings.Repeat("x", 5000)+"\n")).Add(11, 0), "(5001 bytes)")
}

// All zones together have a limit, too. A zone that goes past it is an error by itself: what the
// others have stays counted, and so does what the zone had before (tenants S9).
func TestAllZones(t *testing.T) {
	b := listlimit.New(listlimit.Limits{ZoneRecords: 10, Records: 15})
	list := func(name string, records int) error {
		l := b.Zone(zone(name))
		err := l.Add(records, 10*records)
		l.End(err)
		l.End(nil)
		return err
	}
	if err := errors.Join(list("a.test", 8), list("b.test", 7), list("a.test", 8)); err != nil {
		t.Fatal(err)
	}
	wantUsed(t, b, 15, 150)
	wantExceeded(t, list("a.test", 9), "with zone a.test", "more than 15 record sets", "--max-records")
	wantExceeded(t, list("c.test", 1), "with zone c.test")
	wantExceeded(t, list("a.test", 11), "--max-zone-records")
	wantUsed(t, b, 15, 150)
	if err := errors.Join(list("b.test", 2), list("c.test", 5)); err != nil {
		t.Error(err)
	}
	b.Retain([]dns.Zone{zone("b.test")})
	wantUsed(t, b, 2, 20)
}

// Zones that are read at the same time count together while they are read.
func TestAtOnce(t *testing.T) {
	b := listlimit.New(listlimit.Limits{ZoneRecords: 1000, Records: 5000})
	var group sync.WaitGroup
	failed := make([]error, 10)
	for i := range failed {
		group.Go(func() {
			l := b.Zone(zone(fmt.Sprint(i)))
			defer func() { l.End(failed[i]) }()
			for range 1000 {
				if failed[i] = l.Add(1, 1); failed[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	complete := 0
	for _, err := range failed {
		if err == nil {
			complete++
		}
	}
	if complete > 5 {
		t.Errorf("%d zones of 1,000 record sets are complete", complete)
	}
	wantUsed(t, b, complete*1000, complete*1000)
}

// Without a budget, a zone has the default limits, and nothing is kept.
func TestNoBudget(t *testing.T) {
	var b *listlimit.Budget
	b.Retain(nil)
	l := b.Zone(dns.Zone{})
	defer l.End(nil)
	if err := l.Add(listlimit.DefaultZoneRecords, 0); err != nil {
		t.Error(err)
	}
	wantExceeded(t, l.Add(1, 0), "the provider's only zone")
	wantExceeded(t, b.Zones("Route 53").Add(listlimit.DefaultZones+1, 0), "Route 53", "50000 zones", "--max-zones")
	if b.ZoneBytes() != 400*listlimit.DefaultZoneRecords {
		t.Errorf("a zone may have %d bytes", b.ZoneBytes())
	}
}

// Pages may neither repeat nor lead nowhere. The marker is shown, cut and without control
// characters.
func TestPages(t *testing.T) {
	l := (&listlimit.Budget{}).Part("zone a.test")
	for _, marker := range []string{"A", "B"} {
		if err := l.Page(marker); err != nil {
			t.Fatal(err)
		}
	}
	wantExceeded(t, l.Page("A"), "zone a.test has no end", `the page "A" comes again`)

	long := strings.Repeat("\x1b", 10_000)
	l = listlimit.New(listlimit.Limits{}).Zones("Route 53")
	_ = l.Page(long)
	if err := l.Page(long); err == nil || len(err.Error()) > 2000 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}

	l = listlimit.New(listlimit.Limits{}).Part("zone a.test")
	var err error
	pages := 0
	for ; err == nil; pages++ {
		err = l.Page(fmt.Sprint(pages))
	}
	wantExceeded(t, err, "101 pages with only 0 record sets")
	l = listlimit.New(listlimit.Limits{}).Part("zone a.test")
	for i := range 1000 {
		if err := errors.Join(l.Add(1, 0), l.Page(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// decode decodes an answer as providers do, and returns how many record sets came before the end.
func decode(answer string) (int, error) {
	l := listlimit.New(listlimit.Limits{ZoneRecords: 100_000}).Part("zone a.test")
	s := listlimit.NewStream(strings.NewReader(answer), l)
	n := 0
	err := s.Object(map[string]func() error{"sets": func() error {
		return s.Array(func() error {
			var r *dns.RecordSet
			if err := s.Value(&r); err != nil {
				return err
			}
			n++
			return l.Add(1, listlimit.SetSize(r))
		})
	}})
	if err == nil {
		err = s.End()
	}
	return n, err
}

func TestStream(t *testing.T) {
	big := strings.Repeat("x", 600_000)
	for answer, want := range map[string]int{
		`null`: 0, `{}`: 0, `{"sets":null}`: 0, `{"sets":[]}`: 0, ` {"sets" : [ {} , null ] , "other":{"sets":[1,[2]]}} `: 2,
		`{"other":"x","sets":[{"dnsName":"a"}],"more":[[]]}`:                          1,
		`{"a":"` + big + `","b":"` + big + `","sets":[{"dnsName":"` + big + `"},{}]}`: 2,
	} {
		if n, err := decode(answer); n != want || err != nil {
			t.Errorf("%.60s: %d record sets, %v", answer, n, err)
		}
	}
	for answer, want := range map[string]string{
		``: "EOF", `{"sets":[{}`: "EOF", `[]`: "is a JSON array, and must be an object", `{"sets":{}}`: "is a JSON object, and must be an array",
		`{"sets":"x"}`: "is a JSON string", `{}{}`: "something follows", `{} x`: "something follows", `{"sets":[1]}`: "cannot unmarshal",
		`{"sets":[{"dnsName":"` + big + big + `"}]}`:               "an entry has more than",
		`{"other":["` + strings.Repeat(`","`, 500_000) + `"]}`:     "an entry has more than",
		`{` + strings.Repeat(" ", 2<<20) + `}`:                     "an entry has more than",
		`{}` + strings.Repeat(" ", 2<<20):                          "an entry has more than",
		`{"sets":[` + strings.Repeat("{},", 200_000) + `{}]}`:      "more than 100000 record sets",
		`{"sets":` + strings.Repeat("[", 100_000):                  "exceeded max depth",
		`{"sets":[{"targets":[` + strings.Repeat(`"",`, 1_000_000): "an entry has more than",
	} {
		if n, err := decode(answer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %d record sets, %v, want %q", answer, n, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := (listlimit.Limits{ZoneRecords: 1, Records: 1, Zones: 1}).Check(); err != nil {
		t.Error(err)
	}
	for want, l := range map[string]listlimit.Limits{
		"--max-zone-records=0": {Records: 1, Zones: 1}, "--max-records=-1": {ZoneRecords: 1, Records: -1, Zones: 1}, "--max-zones=0": {ZoneRecords: 1, Records: 1},
	} {
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// Whatever an answer is, decoding it ends, and no more entries come out than the limit.
func FuzzStream(f *testing.F) {
	f.Add(`{"sets":[{},null,{"targets":["a"]}]}`)
	f.Add(`{"sets":[[[[`)
	f.Fuzz(func(t *testing.T, answer string) {
		if n, err := decode(answer); n > 100_001 || n > len(answer) {
			t.Errorf("%d record sets, %v", n, err)
		}
	})
}
