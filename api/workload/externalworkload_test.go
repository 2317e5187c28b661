package workload

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/decodetest"
)

func TestDecode(t *testing.T) {
	got := decodetest.File[*ExternalWorkload](t, "testdata/dualstack.yaml", AddToScheme)
	at := func(day, hour, minute, second int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, day, hour, minute, second, 0, time.UTC)}
	}
	wantSpec := ExternalWorkloadSpec{
		MeshTLS: MeshTLS{
			Identity:   "spiffe://root.linkerd.cluster.local/vm-1",
			ServerName: "vm-1.shop.serviceaccount.identity.linkerd.cluster.local",
		},
		WorkloadIPs: []WorkloadIP{{IP: "192.0.2.10"}, {IP: "2001:db8::10"}},
		Ports:       []Port{{Name: "http", Port: 80}, {Port: 53, Protocol: "UDP"}},
	}
	wantStatus := ExternalWorkloadStatus{Conditions: []Condition{{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: "Probed", Message: "answers",
		LastProbeTime: at(2, 3, 4, 5), LastTransitionTime: at(1, 0, 0, 0),
	}}}
	if diff := cmp.Diff(wantSpec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantStatus, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// One bad object leaves its name, a problem, and the others alone.
func TestDecodeListWithOneBadObject(t *testing.T) {
	text := `{"items":[
		{"metadata":{"name":"a"},"spec":{"ports":[{"port":"http"}]},"status":{"conditions":[{"lastProbeTime":"noon"}]}},
		{"metadata":{"name":"b"},"spec":{"ports":[{"port":80}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`
	var list ExternalWorkloadList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if a := list.Items[0]; a.Name != "a" || a.Spec.Problem == "" || a.Status.Problem == "" {
		t.Errorf("first object is %+v, want its name and two problems", a)
	}
	b := list.Items[1]
	if b.Spec.Problem != "" || b.Status.Problem != "" || len(b.Spec.Ports) != 1 || len(b.Status.Conditions) != 1 {
		t.Errorf("second object is %+v, want a port, a condition and no problem", b)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`null`, `[]`, `{}`, `{"spec":7,"status":[]}`, `{"spec":null,"status":null}`,
		`{"spec":{"meshTLS":{"identity":"a","serverName":"b"},"workloadIPs":[{"ip":"::1"}],"ports":[{"port":80}]}}`,
		`{"spec":{"meshTls":{"identity":"the other version"}}}`,
		`{"spec":{"ports":[{"port":4294967296}]}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True","lastProbeTime":"2026-01-02T03:04:05Z"}]}}`,
		`{"status":{"conditions":[{"lastProbeTime":null,"lastTransitionTime":""}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var parts struct{ Spec, Status json.RawMessage }
		if json.Unmarshal(data, &parts) != nil || parts.Spec == nil || parts.Status == nil {
			return
		}
		decodetest.RoundTrip(t, parts.Spec, func(s *ExternalWorkloadSpec) { s.Problem = "" })
		decodetest.RoundTrip(t, parts.Status, func(s *ExternalWorkloadStatus) { s.Problem = "" })
	})
}
