package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func singlePorts(ports ...uint16) PortSet {
	var set PortSet
	for _, p := range ports {
		set = append(set, PortRange{p, p})
	}
	return set
}

var portListCases = map[string]struct {
	list string
	want PortSet
	bad  []string // the items that the errors quote
}{
	"T25 ports":                   {list: "25,443,587,3306,5432,11211", want: singlePorts(25, 443, 587, 3306, 5432, 11211)},
	"T25 ports and ranges":        {list: "22,23-25,3306,4000-4100", want: PortSet{{22, 25}, {3306, 3306}, {4000, 4100}}},
	"T25 empty":                   {},
	"T25 word":                    {list: "notanumber", bad: []string{"notanumber"}},
	"T25 words in a range":        {list: "not-number", bad: []string{"not-number"}},
	"T25 no low end":              {list: "-23", bad: []string{"-23"}},
	"T25 no low end in three":     {list: "-23-25", bad: []string{"-23-25"}},
	"T25 falling":                 {list: "25-23", bad: []string{"25-23"}},
	"T25 too large":               {list: "65536-65539", bad: []string{"65536-65539"}},
	"T25 word at the high end":    {list: "23-x", bad: []string{"23-x"}},
	"no high end":                 {list: "23-", bad: []string{"23-"}},
	"more than one dash":          {list: "1-2-3", bad: []string{"1-2-3"}},
	"only the high end too large": {list: "65535-65536", bad: []string{"65535-65536"}},
	"a bad item costs only itself": {
		list: "25,x,26,99999,27-28", want: PortSet{{25, 28}}, bad: []string{"x", "99999"},
	},
	"one trailing comma":          {list: "25,26,", want: PortSet{{25, 26}}},
	"two trailing commas":         {list: "25,,", want: singlePorts(25), bad: []string{""}},
	"an empty item":               {list: "25,,26", want: PortSet{{25, 26}}, bad: []string{""}},
	"only a comma":                {list: ","},
	"only spaces":                 {list: "  "},
	"T18 spaces around items":     {list: " 3306 ,  665 , 1-2", want: PortSet{{1, 2}, {665, 665}, {3306, 3306}}},
	"spaces inside a range":       {list: "1 - 2", bad: []string{"1 - 2"}},
	"both ends of the port range": {list: "0,65535,0-65535", want: PortSet{{0, 65535}}},
	"a range of one":              {list: "25-25", want: singlePorts(25)},
	"signs":                       {list: "+25,25-+26", bad: []string{"+25", "25-+26"}},
	"zeros in front":              {list: "0025,000000000000000080", want: singlePorts(25, 80)},
	"more digits than a port has": {list: "100000000000000000000025", bad: []string{"100000000000000000000025"}},
	"a name":                      {list: "http", bad: []string{"http"}},
}

// Port lists with valid and invalid items (T25).
func TestParsePortList(t *testing.T) {
	for name, tc := range portListCases {
		t.Run(name, func(t *testing.T) {
			got, errs := ParsePortList(tc.list)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("set (-want +got):\n%s", diff)
			}
			var bad []string
			for _, err := range errs {
				item, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), `"`), `"`)
				bad = append(bad, item)
			}
			if diff := cmp.Diff(tc.bad, bad); diff != "" {
				t.Errorf("bad items (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPortSetHas(t *testing.T) {
	set := NewPortSet([]PortRange{{10, 12}, {80, 80}, {11, 20}, {65535, 65535}})
	for port, want := range map[uint16]bool{
		0: false, 9: false, 10: true, 12: true, 15: true, 20: true, 21: false, 79: false, 80: true, 81: false, 65534: false, 65535: true,
	} {
		if got := set.Has(port); got != want {
			t.Errorf("%v.Has(%d) = %v, want %v", set, port, got, want)
		}
	}
	if PortSet(nil).Has(0) {
		t.Error("the nil set has port 0")
	}
}

// Each item of a list is either in the set or described by an error, and the set has exactly the ports of the
// valid items (T25).
func FuzzParsePortList(f *testing.F) {
	for _, list := range []string{
		"", ",", ",,", "25,443", "25,443,", "1-2-3", "25-23", "-23", " 3306 , 665", "65535-65536", "http,80", "0-65535", "x,é,\x00",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		set, bad := ParsePortList(list)
		for i, r := range set {
			if r.Low > r.High || i > 0 && int(set[i-1].High)+1 >= int(r.Low) {
				t.Errorf("%q gave %v, whose ranges fall, overlap or touch", list, set)
			}
		}
		good := 0
		var ranges []PortRange
		for item := range PortItems(list) {
			if r, ok := ParsePortRange(item); ok {
				good++
				ranges = append(ranges, r)
			}
		}
		items := strings.Count(strings.TrimSuffix(list, ","), ",") + 1
		if strings.TrimSpace(strings.TrimSuffix(list, ",")) == "" {
			items = 0
		}
		if good+len(bad) != items {
			t.Errorf("%q has %d items, and gave %d ranges and %d errors", list, items, good, len(bad))
		}
		for port := range 1 << 16 {
			in := slices.ContainsFunc(ranges, func(r PortRange) bool { return int(r.Low) <= port && port <= int(r.High) })
			if set.Has(uint16(port)) != in {
				t.Fatalf("%q: %v has port %d: %v, want %v", list, set, port, !in, in)
			}
			if len(ranges) > 64 && port > 1024 {
				break // long lists would take seconds
			}
		}
	})
}

// portsOf returns the ports of an annotation with a list, on a workload that declares these ports.
func portsOf(list string, declared ...WorkloadPort) *PortSet {
	var ranges []PortRange
	for item := range PortItems(list) {
		if r, ok := ParsePortRange(item); ok {
			ranges = append(ranges, r)
		}
		for _, p := range declared {
			if p.Name == item {
				ranges = append(ranges, PortRange{Low: p.Port, High: p.Port})
			}
		}
	}
	set := NewPortSet(ranges)
	return &set
}
