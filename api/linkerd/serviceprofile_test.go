package linkerd

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/decodetest"
)

func TestDecodeFull(t *testing.T) {
	got := decodetest.File[*ServiceProfile](t, "testdata/full.yaml", AddToScheme).Spec
	want := ServiceProfileSpec{
		RetryBudget: &RetryBudget{RetryRatio: 0.25, MinRetriesPerSecond: 5, TTL: "15s"},
		Routes: []Route{{
			Name:        "GET /cart/{id}",
			IsRetryable: true,
			Timeout:     "300ms",
			Condition: &RequestMatch{
				Method:    "GET",
				PathRegex: "/cart/[^/]*",
				All: []*RequestMatch{
					{Any: []*RequestMatch{{PathRegex: "/a"}, {Not: &RequestMatch{Method: "POST"}}}},
					{Method: "GET"},
				},
			},
			ResponseClasses: []ResponseClass{{
				IsFailure: true,
				Condition: &ResponseMatch{All: []*ResponseMatch{
					{Status: &Range{Min: 500, Max: 599}},
					{Not: &ResponseMatch{Status: &Range{Min: 503}}},
				}},
			}},
		}},
		DstOverrides: []WeightedDst{
			{Authority: "web-new.shop.svc.cluster.local:8080", Weight: resource.MustParse("500m")},
			{Authority: "web.shop.svc.cluster.local:8080", Weight: resource.MustParse("2")},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if milli := got.DstOverrides[0].Weight.MilliValue(); milli != 500 {
		t.Errorf("weight of first override is %d milli, want 500", milli)
	}
}

func TestDecodeOddShapes(t *testing.T) {
	got := decodetest.File[*ServiceProfile](t, "testdata/odd_shapes.yaml", AddToScheme).Spec
	want := ServiceProfileSpec{
		OpaquePorts: []string{"25", "3306"},
		Routes: []Route{
			{Name: "one", Condition: &RequestMatch{Not: &RequestMatch{Method: "POST"}}},
			{Name: "several", Condition: &RequestMatch{Not: &RequestMatch{Any: []*RequestMatch{
				{Method: "POST"},
				{PathRegex: "/x", Not: &RequestMatch{Method: "PUT"}},
			}}}},
			{
				Name:      "none",
				Condition: &RequestMatch{Method: "GET"},
				ResponseClasses: []ResponseClass{{
					Condition: &ResponseMatch{Not: &ResponseMatch{Status: &Range{Min: 500}}},
				}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	ports := decodetest.File[*ServiceProfile](t, "testdata/opaque_map.yaml", AddToScheme).Spec.OpaquePorts
	if diff := cmp.Diff([]string{"25", "3306"}, ports); diff != "" {
		t.Errorf("opaquePorts as a map (-want +got):\n%s", diff)
	}
}

// What cannot be decoded is reported, and where.
func TestDecodeProblem(t *testing.T) {
	deep := strings.Repeat(`{"not":`, MaxMatchDepth) + `{"method":"GET"}` + strings.Repeat(`}`, MaxMatchDepth)
	for _, test := range []struct{ name, spec, want string }{
		{"nothing", `null`, ""},
		{"empty", `{}`, ""},
		{"a number", `7`, "cannot unmarshal number"},
		{"unknown field", `{"colour":"red"}`, ""},
		{"null child stays", `{"routes":[{"condition":{"all":[null]}}]}`, ""},
		{"null in not list stays", `{"routes":[{"condition":{"not":[null]}}]}`, ""},
		{"ports of no shape", `{"opaquePorts":true}`, ""},
		{"numbers as ports", `{"opaquePorts":[25,{},"3306"]}`, ""},
		{"weight", `{"dstOverrides":[{"weight":"half"}]}`, "quantities must match"},
		{"weight empty", `{"dstOverrides":[{"weight":""}]}`, "quantities must match"},
		{"weight a fraction", `{"dstOverrides":[{"weight":0.5}]}`, ""},
		{"routes no list", `{"routes":{"a":1}}`, "routes"},
		{"method a number", `{"routes":[{"condition":{"any":[{"method":5}]}}]}`, "method"},
		{"too deep", `{"routes":[{"condition":` + deep + `}]}`, "routes[0]: condition: conditions are nested too deep"},
		{"too deep in a class", `{"routes":[{},{"responseClasses":[{"condition":` + deep + `}]}]}`, "routes[1]: responseClasses[0].condition"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var spec ServiceProfileSpec
			if err := json.Unmarshal([]byte(test.spec), &spec); err != nil {
				t.Fatalf("decoding failed: %v", err)
			}
			if (test.want == "") != (spec.Problem == "") || !strings.Contains(spec.Problem, test.want) {
				t.Errorf("problem %q, want %q", spec.Problem, test.want)
			}
		})
	}
}

func TestDecodeListWithOneBadObject(t *testing.T) {
	var list ServiceProfileList
	text := `{"items":[{"metadata":{"name":"a"},"spec":{"routes":"?"}},{"metadata":{"name":"b"},"spec":{"routes":[{"name":"r"}]}}]}`
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if a := list.Items[0]; a.Name != "a" || a.Spec.Problem == "" {
		t.Errorf("first object is %+v, want its name and a problem", a)
	}
	if b := list.Items[1]; b.Spec.Problem != "" || len(b.Spec.Routes) != 1 {
		t.Errorf("second object is %+v, want one route and no problem", b)
	}
}

// Decoding from unstructured content takes the same way.
func TestDecodeUnstructured(t *testing.T) {
	text, err := os.ReadFile("testdata/odd_shapes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	var got ServiceProfile
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decodetest.File[*ServiceProfile](t, "testdata/odd_shapes.yaml", AddToScheme), &got); diff != "" {
		t.Errorf("(-typed +unstructured):\n%s", diff)
	}
}

func FuzzDecodeSpec(f *testing.F) {
	for _, seed := range []string{
		`null`, `7`, `{}`, `[]`,
		`{"opaquePorts":["25",3306]}`, `{"opaquePorts":{"25":{}}}`, `{"opaquePorts":1e30}`,
		`{"routes":[null,{"name":"a","condition":{"not":[{"method":"GET"}]}}]}`,
		`{"routes":[{"condition":{"not":{"not":[null,{}]}}}]}`,
		`{"routes":[{"condition":{"all":[{"any":[{"not":[]}]}]},"responseClasses":[{"condition":{"status":{"min":1e3}}}]}]}`,
		`{"dstOverrides":[{"authority":"a:1","weight":"500m"},{"weight":0.1},{"weight":null}]}`,
		`{"retryBudget":{"retryRatio":1e400,"minRetriesPerSecond":-1,"ttl":"x"}}`,
		`{"Routes":[{"Name":"case matters"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec := decodetest.RoundTrip(t, data, func(s *ServiceProfileSpec) { s.Problem = "" })
		if spec != nil && !equality.Semantic.DeepEqual(spec, spec.DeepCopy()) {
			t.Errorf("the copy of %+v differs", spec)
		}
	})
}
