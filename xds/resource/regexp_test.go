package resource

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/signpostd/signpost/catalog"
)

// The sizes are those that RE2 says (google-re2 1.1.20251105, programsize). None is estimated to be
// less, and none that is much smaller than the limit is too large.
func TestInstructions(t *testing.T) {
	for text, size := range map[string]int{
		"a": 5, "abc": 7, "é": 6, ".*": 12, `/shop\.Cart/.*`: 23, "[^/]+": 13, `\w{1,100}`: 403, ".{0,100}": 904, "[^/]{1,64}": 579, "/a{1000}": 1005,
		`\pL`: 1200, `\p{Lu}`: 794, `\p{Greek}`: 66, `\p{Cyrillic}`: 37, `\p{Han}`: 84, `\W`: 15, "/ärzte/[α-ω]+": 17, "/(a|b|c)*d": 9,
		"(?i)kiss": 15, "(?i)straße": 16, `(?i)/shop\.Cart/GetItemsOfTheCartOfTheCustomer`: 51, "/(foo|bar|baz)/[^/]{1,64}": 590,
		"/users/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/.*": 88, "/[^/]*/orders/.{1,100}": 920,
	} {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := instructions(re) + programOverhead; got < size && got <= maxEstimate || size < 600 && got > maxEstimate || size < 100 && got > 5*size {
			t.Errorf("%s has %d instructions, estimated %d", text, size, got)
		}
	}
	if err := checkRegexp("/" + strings.Repeat("a", 2000)); err != nil {
		t.Errorf("a path, which is no regular expression for clients: %v", err)
	}
	if err := checkRegexp(strings.Repeat(`\pL`, 2700)); !errors.Is(err, errLargeRegexp) {
		t.Errorf("2,700 classes of Unicode: %v", err)
	}
}

// RE2 has fewer names of classes than Go.
func TestClassesOfRE2(t *testing.T) {
	for text, want := range map[string]error{
		`\p{Lu}`: errLargeRegexp, `\P{Han}`: nil, `\p{^Greek}`: nil, `\p{Any}`: nil,
		`\p{Letter}`: errRegexp, `\p{greek}`: errRegexp, `\pl`: errRegexp, `\p{LC}`: errRegexp, `[a\p{ASCII}]`: errRegexp, `(`: errRegexp,
	} {
		if err := checkRegexp(text); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// A pathRegex that clients reject costs its own route only: they would reject the other routes as well.
func TestRoutesBesideALargeRegexp(t *testing.T) {
	s := web()
	s.Profile = &catalog.ServiceProfile{Routes: []catalog.Route{
		{Name: "large", Condition: &catalog.RequestMatch{PathRegex: "/a/[^/]{500}"}},
		{Name: "letters", Condition: &catalog.RequestMatch{Any: []*catalog.RequestMatch{{PathRegex: `/\p{Letter}`}, {PathRegex: "/b"}}}},
		{Name: "small", Condition: &catalog.RequestMatch{PathRegex: "/a/.*"}},
	}}
	for _, c := range []Client{GRPC, Envoy} {
		r, problems := namer.Routes(RouteConfiguration, "web.shop:80", s, c)
		if len(problems) != 2 || !strings.Contains(problems[0], "large") || !strings.Contains(problems[0], "too large") || !strings.Contains(problems[1], "letters") {
			t.Errorf("problems %q", problems)
		}
		if text := string(r.Wire); strings.Contains(text, "{500}") || strings.Contains(text, "/b") || !strings.Contains(text, "/a/.*") {
			t.Errorf("the routes are %q", text)
		}
	}
}
