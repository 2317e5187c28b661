package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/testkit/decodetest"
)

func TestDecode(t *testing.T) {
	for file, want := range map[string]ServerSpec{
		"pods.yaml": {
			PodSelector: &metav1.LabelSelector{
				MatchLabels:      map[string]string{"app": "mysql"},
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "In", Values: []string{"data"}}},
			},
			Port:          intstr.FromInt32(3306),
			ProxyProtocol: ProxyProtocolOpaque,
		},
		"workloads.yaml": {
			ExternalWorkloadSelector: &metav1.LabelSelector{},
			Port:                     intstr.FromString("admin-http"),
			ProxyProtocol:            "HTTP/1",
			AccessPolicy:             "audit",
		},
	} {
		if diff := cmp.Diff(want, decodetest.File[*Server](t, "testdata/"+file, AddToScheme).Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// One bad Server leaves its name, a problem, and the others alone.
func TestDecodeListWithOneBadObject(t *testing.T) {
	for _, bad := range []string{
		`7`,
		`{"port":true}`,
		`{"port":99999999999}`,
		`{"podSelector":{"matchLabels":{"version":2}},"port":80}`,
		`{"podSelector":[],"port":80}`,
	} {
		text := `{"items":[{"metadata":{"name":"a"},"spec":` + bad + `},{"metadata":{"name":"b"},"spec":{"port":"http"}}]}`
		var list ServerList
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Errorf("%s: %v", bad, err)
			continue
		}
		if a := list.Items[0]; a.Name != "a" || !strings.HasPrefix(a.Spec.Problem, "decode spec of Server: ") {
			t.Errorf("%s became %+v, want its name and a problem", bad, a)
		}
		if diff := cmp.Diff(ServerSpec{Port: intstr.FromString("http")}, list.Items[1].Spec); diff != "" {
			t.Errorf("beside %s (-want +got):\n%s", bad, diff)
		}
	}
}

func FuzzDecodeSpec(f *testing.F) {
	for _, seed := range []string{
		`null`, `[]`, `{}`, `{"port":80}`, `{"port":"80"}`, `{"port":-1}`, `{"port":1e3}`,
		`{"podSelector":{},"port":1}`, `{"podSelector":{"matchLabels":{"a":1}}}`,
		`{"externalWorkloadSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]},"port":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decodetest.RoundTrip(t, data, func(s *ServerSpec) { s.Problem = "" })
	})
}
