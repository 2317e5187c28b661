package externaldns

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/decodetest"
)

func TestDecodeDNSEndpoint(t *testing.T) {
	got := decodetest.File[*DNSEndpoint](t, "testdata/dnsendpoint.yaml", AddToScheme)
	want := DNSEndpointSpec{Endpoints: []*Endpoint{
		{DNSName: "example.com", RecordType: "MX", RecordTTL: 300, Targets: []string{"10 mail.example.com"}},
		{
			DNSName: "shop.example.com", RecordType: "A", SetIdentifier: "eu", Targets: []string{"192.0.2.1", "192.0.2.2"},
			Labels: map[string]string{"team": "shop"}, ProviderSpecific: []ProviderSpecificProperty{{Name: "aws/weight", Value: "10"}},
		},
		nil,
	}}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if got.Status.ObservedGeneration != 2 || got.Generation != 3 {
		t.Errorf("observed %d, generation %d, want 2 and 3", got.Status.ObservedGeneration, got.Generation)
	}
}

func TestDecodeDNSRecord(t *testing.T) {
	got := decodetest.File[*DNSRecord](t, "testdata/dnsrecord.yaml", AddToScheme)
	spec := DNSRecordSpec{Endpoint: Endpoint{
		DNSName: "shop.example.com", RecordType: "A", Targets: []string{"192.0.2.1"}, Labels: map[string]string{"resource": "service/default/shop"},
	}}
	status := DNSRecordStatus{Conditions: []metav1.Condition{{
		Type: ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonProgrammed, ObservedGeneration: 1,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}}}
	if diff := cmp.Diff(spec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(status, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got.Labels[LabelOwner] != "default" {
		t.Errorf("labels %v, want the owner default", got.Labels)
	}
}

// A bad object, or a bad endpoint of an object, leaves all others usable.
func TestDecodeListWithBadObjects(t *testing.T) {
	text := `{"items":[
		{"metadata":{"name":"a"},"spec":{"endpoints":[{"dnsName":"a","recordTTL":"1m"},{"dnsName":"b"}]},"status":{"observedGeneration":"1"}},
		{"metadata":{"name":"b"},"spec":{"endpoints":{"dnsName":"a"}}},
		{"metadata":{"name":"c"},"spec":[]},
		{"metadata":{"name":"d"},"spec":{"endpoints":[{"dnsName":"d"}]}}]}`
	var list DNSEndpointList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	half := list.Items[0].Spec
	if half.Problem != "" || len(half.Endpoints) != 2 || !strings.HasPrefix(half.Endpoints[0].Problem, "decode endpoint: ") || half.Endpoints[0].DNSName != "" {
		t.Errorf("spec with one bad endpoint: %+v", half)
	}
	if diff := cmp.Diff(&Endpoint{DNSName: "b"}, half.Endpoints[1]); diff != "" {
		t.Errorf("good endpoint beside a bad one (-want +got):\n%s", diff)
	}
	for _, i := range []int{1, 2} {
		if spec := list.Items[i].Spec; !strings.HasPrefix(spec.Problem, "decode spec of DNSEndpoint: ") || spec.Endpoints != nil {
			t.Errorf("spec %d: %+v, want only a problem", i, spec)
		}
	}
	if diff := cmp.Diff(DNSEndpointSpec{Endpoints: []*Endpoint{{DNSName: "d"}}}, list.Items[3].Spec); diff != "" {
		t.Errorf("good spec (-want +got):\n%s", diff)
	}
}

func TestDecodeListWithBadRecords(t *testing.T) {
	text := `{"items":[
		{"metadata":{"name":"a"},"spec":{"endpoint":{"targets":"x"}},"status":{"conditions":{}}},
		{"metadata":{"name":"b"},"spec":"x"}]}`
	var list DNSRecordList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	a, b := list.Items[0], list.Items[1]
	if !strings.HasPrefix(a.Spec.Endpoint.Problem, "decode endpoint: ") || !strings.HasPrefix(a.Status.Problem, "decode status of DNSRecord: ") {
		t.Errorf("bad endpoint and status: %+v", a)
	}
	if !strings.HasPrefix(b.Spec.Problem, "decode spec of DNSRecord: ") {
		t.Errorf("bad spec: %+v", b.Spec)
	}
}

// Problems are not written: objects come out as they would have without the field.
func TestEncodeLeavesProblemsOut(t *testing.T) {
	got, err := json.Marshal(DNSRecordSpec{Endpoint: Endpoint{DNSName: "a", Problem: "x"}, Problem: "y"})
	if err != nil || string(got) != `{"endpoint":{"dnsName":"a"}}` {
		t.Errorf("Marshal = %s, %v", got, err)
	}
}
