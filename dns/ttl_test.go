package dns_test

import (
	"math"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestParseTTL(t *testing.T) {
	tests := map[string]struct {
		want int64
		err  string
	}{
		"60":                   {want: 60},
		" 60 ":                 {want: 60},
		"1":                    {want: 1},
		"2147483647":           {want: math.MaxInt32},
		"5m":                   {want: 300},
		"1h30m":                {want: 5400},
		"1.9s":                 {want: 1},
		"0":                    {err: "from 1 to 2147483647 seconds"},
		"0s":                   {err: "from 1 to"},
		"999ms":                {err: "from 1 to"},
		"-1":                   {err: "from 1 to"},
		"-5m":                  {err: "from 1 to"},
		"2147483648":           {err: "from 1 to"},
		"600000h":              {err: "from 1 to"},
		"99999999999999999999": {err: "write seconds"},
		"":                     {err: "write seconds"},
		"1.5":                  {err: "write seconds"},
		"soon":                 {err: "write seconds"},
	}
	for value, test := range tests {
		t.Run(value, func(t *testing.T) {
			got, err := dns.ParseTTL(value)
			wantError(t, err, test.err)
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func FuzzParseTTL(f *testing.F) {
	for _, value := range []string{"60", "5m", "1h30m0.5s", "-1", "9223372036854775807"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ttl, err := dns.ParseTTL(value)
		if (err == nil) != (ttl >= 1 && ttl <= math.MaxInt32) {
			t.Errorf("ParseTTL(%q) = %d, %v", value, ttl, err)
		}
	})
}
