package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/slicetest"
)

const lastApplied = corev1.LastAppliedConfigAnnotation

// TestCreate has the cases without existing slices.
func TestCreate(t *testing.T) {
	one := subset("a:80", "10.0.0.1")
	const made = "create IPv4 [a:80/TCP] 10.0.0.1"
	externalName := bare()
	externalName.Spec.Type = corev1.ServiceTypeExternalName
	tests := []struct {
		name      string
		endpoints *corev1.Endpoints
		service   *corev1.Service
		want      []string
	}{
		{"MI-01 no addresses", endpointsOf(subset("a:80")), bare(), nil},
		{"MI-02 skip-mirror true", with(endpointsOf(one), labelled(discoveryv1.LabelSkipMirror, "true")), bare(), nil},
		{"MI-02 skip-mirror false", with(endpointsOf(one), labelled(discoveryv1.LabelSkipMirror, "false")), bare(), []string{made}},
		{"MI-02 skip-mirror invalid", with(endpointsOf(one), labelled(discoveryv1.LabelSkipMirror, "invalid")), bare(), []string{made}},
		{"MI-03 no service", endpointsOf(one), nil, nil},
		{"MI-04 service with selector", endpointsOf(one), selecting(), nil},
		{"MI-04 ExternalName counts", endpointsOf(one), externalName, []string{made}},
		{"MI-08 leader annotation", with(endpointsOf(one), annotated("control-plane.alpha.kubernetes.io/leader", "")), bare(), nil},
		{"MI-08 plain", endpointsOf(one), bare(), []string{made}},
		{"MI-10 no subsets", endpointsOf(), bare(), nil},
		{"MI-10 no endpoints", nil, bare(), nil},
		{"MI-11 one subset", endpointsOf(one), bare(), []string{made}},
		{"MI-11 no ports", endpointsOf(subset("10.0.0.1")), bare(), []string{"create IPv4 [] 10.0.0.1"}},
		{
			"MI-12 different ports and addresses",
			endpointsOf(one, subset("b:81", "10.0.0.2")), bare(),
			[]string{made, "create IPv4 [b:81/TCP] 10.0.0.2"},
		},
		{
			"MI-12 different ports, same address",
			endpointsOf(one, subset("b:81", "10.0.0.1")), bare(),
			[]string{"create IPv4 [a:80/TCP b:81/TCP] 10.0.0.1"},
		},
		{
			"MI-12 same port, different addresses",
			endpointsOf(one, subset("a:80", "10.0.0.2")), bare(),
			[]string{made + " 10.0.0.2"},
		},
		{"MI-13 being deleted", with(endpointsOf(one), deleting), bare(), nil},
		{
			"MI-15 two ports, two addresses",
			endpointsOf(subset("a:80", "b:81", "10.0.0.1", "10.0.0.2")), bare(),
			[]string{"create IPv4 [a:80/TCP b:81/TCP] 10.0.0.1 10.0.0.2"},
		},
		{
			"MI-15 two not ready",
			endpointsOf(subset("a:80", "b:81", "!10.0.0.1", "!10.0.0.2")), bare(),
			[]string{"create IPv4 [a:80/TCP b:81/TCP] !10.0.0.1 !10.0.0.2"},
		},
		{
			"MI-15 two ready, two not",
			endpointsOf(subset("a:80", "b:81", "10.0.0.1", "10.0.0.2", "!10.0.0.3", "!10.0.0.4")), bare(),
			[]string{"create IPv4 [a:80/TCP b:81/TCP] !10.0.0.3 !10.0.0.4 10.0.0.1 10.0.0.2"},
		},
		{
			"MI-16 two subsets with several ports",
			endpointsOf(subset("a:80", "b:443", "10.0.0.1"), subset("c:53", "d:53/UDP", "10.0.0.2", "10.0.0.3")), bare(),
			[]string{"create IPv4 [a:80/TCP b:443/TCP] 10.0.0.1", "create IPv4 [c:53/TCP d:53/UDP] 10.0.0.2 10.0.0.3"},
		},
		{
			"MI-17 dual stack",
			endpointsOf(subset("a:80", "10.0.0.1", "fd00::1"), subset("b:81", "10.0.0.2", "FD00:0::2")), bare(),
			[]string{
				made, "create IPv4 [b:81/TCP] 10.0.0.2",
				"create IPv6 [a:80/TCP] fd00::1", "create IPv6 [b:81/TCP] fd00::2",
			},
		},
		{
			"MI-17 IPv6 only",
			endpointsOf(subset("a:80", "fd00::1"), subset("b:81", "fd00::2")), bare(),
			[]string{"create IPv6 [a:80/TCP] fd00::1", "create IPv6 [b:81/TCP] fd00::2"},
		},
		{
			"not ready at any port of a packed subset",
			endpointsOf(one, subset("a:80", "!10.0.0.1")), bare(),
			[]string{"create IPv4 [a:80/TCP] !10.0.0.1"},
		},
		{
			"old spelling of IPs",
			endpointsOf(subset("a:80", "010.000.000.009", "::ffff:10.0.0.1")), bare(),
			[]string{"create IPv4 [a:80/TCP] 10.0.0.1 10.0.0.9"},
		},
		{
			"ports of one name are split", // the API server would refuse them in one slice
			endpointsOf(subset(":80", "10.0.0.1"), subset(":81", "10.0.0.1")), bare(),
			[]string{"create IPv4 [:80/TCP] 10.0.0.1", "create IPv4 [:81/TCP] 10.0.0.1"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := test.endpoints.DeepCopy()
			plan := compute(test.endpoints, test.service, nil)
			wantPlan(t, plan, test.want...)
			if diff := cmp.Diff(before, test.endpoints); diff != "" {
				t.Errorf("Endpoints changed:\n%s", diff)
			}
			server := &slicetest.Server{}
			server.Apply(t, plan.Plan)
			wantPlan(t, compute(test.endpoints, test.service, server.Slices))
		})
	}
}

// TestExisting has the cases with existing slices: those of the Endpoints was, after an edit.
func TestExisting(t *testing.T) {
	one := subset("a:80", "10.0.0.1")
	two := subset("b:81", "10.0.0.2", "10.0.0.3")
	six := subset("a:80", "fd00::1")
	type edit = func(*discoveryv1.EndpointSlice)
	tests := []struct {
		name  string
		was   *corev1.Endpoints
		edit  edit
		now   *corev1.Endpoints
		want  []string
		stats Stats
	}{
		{
			"MI-05 no addresses any more", endpointsOf(one), nil, endpointsOf(subset("a:80")),
			[]string{"delete s1"},
			Stats{Removed: 1},
		},
		{"MI-05 Endpoints are gone", endpointsOf(one), nil, nil, []string{"delete s1"}, Stats{Removed: 1}},
		{"MI-13 updates are made", endpointsOf(one), nil, with(endpointsOf(subset("a:80", "10.0.0.2"), two), deleting), []string{
			"update s1 IPv4 [a:80/TCP] 10.0.0.2",
		}, Stats{Added: 1, Removed: 1, Endpoints: 3, Slices: 2}},
		{"MI-14 equal", endpointsOf(one), nil, endpointsOf(one), nil, Stats{Endpoints: 1, Slices: 1}},
		{
			"MI-14 owner of another uid", endpointsOf(one),
			func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].UID = "former" },
			endpointsOf(one),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-14 no owner", endpointsOf(one), func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil }, endpointsOf(one),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-14 extra annotation", endpointsOf(one),
			func(s *discoveryv1.EndpointSlice) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, "extra", "") },
			endpointsOf(one),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-14 label missing", endpointsOf(one), nil, with(endpointsOf(one), labelled("team", "blue")),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-14 extra label", with(endpointsOf(one), labelled("team", "blue")), nil, endpointsOf(one),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-14 reserved labels on the Endpoints", // upstream writes on each sync
			with(endpointsOf(one), labelled(discoveryv1.LabelManagedBy, "me"), labelled(discoveryv1.LabelServiceName, "x")), nil,
			with(endpointsOf(one), labelled(discoveryv1.LabelManagedBy, "me"), labelled(discoveryv1.LabelServiceName, "x")),
			nil,
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-16 empty slice is reused", endpointsOf(one),
			func(s *discoveryv1.EndpointSlice) { s.Endpoints, s.Ports = nil, nil },
			endpointsOf(one, two),
			[]string{"create IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3", "update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Added: 3, Endpoints: 3, Slices: 2},
		},
		{
			"MI-16 part of the endpoints exists", endpointsOf(subset("b:81", "10.0.0.2", "!10.0.0.3", "10.0.0.9")), nil,
			endpointsOf(subset("b:81", "10.0.0.2", "10.0.0.3", "10.0.0.4")),
			[]string{"update s1 IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3 10.0.0.4"},
			Stats{Added: 1, Updated: 1, Removed: 1, Endpoints: 3, Slices: 1},
		},
		{
			"MI-16 one exists", endpointsOf(one), nil, endpointsOf(one, two),
			[]string{"create IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3"},
			Stats{Added: 2, Endpoints: 3, Slices: 2},
		},
		{
			"MI-20 stale last-applied", endpointsOf(one),
			func(s *discoveryv1.EndpointSlice) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, lastApplied, "{}") },
			with(endpointsOf(one), annotated(lastApplied, "{}")),
			[]string{"update s1 IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-21 trigger time alone", endpointsOf(one), nil,
			with(endpointsOf(one), annotated(corev1.EndpointsLastChangeTriggerTime, "2026-01-01T00:00:00Z")),
			nil,
			Stats{Endpoints: 1, Slices: 1},
		},
		{
			"MI-23 nothing to recycle", endpointsOf(), nil, endpointsOf(one),
			[]string{"create IPv4 [a:80/TCP] 10.0.0.1"},
			Stats{Added: 1, Endpoints: 1, Slices: 1},
		},
		{
			"MI-23 one and one", endpointsOf(one), nil, endpointsOf(two),
			[]string{"update s1 IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3"},
			Stats{Added: 2, Removed: 1, Endpoints: 2, Slices: 1},
		},
		{
			"MI-23 one, an update and one", endpointsOf(one, six), nil, endpointsOf(two, subset("a:80", "!fd00::1")),
			[]string{"update s1 IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3", "update s2 IPv6 [a:80/TCP] !fd00::1"},
			Stats{Added: 2, Updated: 1, Removed: 1, Endpoints: 3, Slices: 2},
		},
		{
			"MI-23 two and one", endpointsOf(one), nil, endpointsOf(two, subset("c:82", "10.0.0.4")),
			[]string{"create IPv4 [c:82/TCP] 10.0.0.4", "update s1 IPv4 [b:81/TCP] 10.0.0.2 10.0.0.3"},
			Stats{Added: 3, Removed: 1, Endpoints: 3, Slices: 2},
		},
		{
			"MI-23 one and two", endpointsOf(one, two), nil, endpointsOf(subset("c:82", "10.0.0.4")),
			[]string{"delete s2", "update s1 IPv4 [c:82/TCP] 10.0.0.4"},
			Stats{Added: 1, Removed: 3, Endpoints: 1, Slices: 1},
		},
		{
			"MI-23 one of each family", endpointsOf(one, six), nil, endpointsOf(subset("c:82", "10.0.0.4", "fd00::4")),
			[]string{"update s1 IPv4 [c:82/TCP] 10.0.0.4", "update s2 IPv6 [c:82/TCP] fd00::4"},
			Stats{Added: 2, Removed: 2, Endpoints: 2, Slices: 2},
		},
		{
			"MI-23 different families", endpointsOf(one), nil, endpointsOf(six),
			[]string{"create IPv6 [a:80/TCP] fd00::1", "delete s1"},
			Stats{Added: 1, Removed: 1, Endpoints: 1, Slices: 1},
		},
		{
			"resource version of a target", endpointsOf(targeting("1")), nil, endpointsOf(targeting("2")),
			nil,
			Stats{Endpoints: 1, Slices: 1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := &slicetest.Server{Slices: settled(t, test.was), Written: 10}
			if test.edit != nil {
				test.edit(server.Slices[0])
			}
			before := slicetest.Copies(server.Slices)
			plan := compute(test.now, bare(), server.Slices)
			wantPlan(t, plan, test.want...)
			if plan.Stats != test.stats {
				t.Errorf("stats = %+v, want %+v", plan.Stats, test.stats)
			}
			if diff := cmp.Diff(before, server.Slices); diff != "" {
				t.Errorf("slices changed:\n%s", diff)
			}
			if test.now == nil || test.now.DeletionTimestamp == nil {
				server.Apply(t, plan.Plan)
				wantPlan(t, compute(test.now, bare(), server.Slices))
			}
		})
	}
}

func targeting(version string) corev1.EndpointSubset {
	s := subset("a:80", "10.0.0.1")
	s.Addresses[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "u", ResourceVersion: version}
	return s
}

// TestSecondSlice shows that only the first of several slices of a group stays.
func TestSecondSlice(t *testing.T) {
	list := settled(t, endpointsOf(subset("a:80", "10.0.0.1")))
	second := list[0].DeepCopy()
	second.Name = "s2"
	wantPlan(t, compute(endpointsOf(subset("a:80", "10.0.0.1")), bare(), []*discoveryv1.EndpointSlice{list[0], second}), "delete s2")
}

// TestLimits has the cases in which addresses are left out.
func TestLimits(t *testing.T) {
	tests := []struct {
		name    string
		words   []string
		max     int
		want    []string
		skipped int
		reasons []string
	}{
		{"MI-07 1000", addresses(1000), 1000, []string{"create IPv4 [a:80/TCP] 1000"}, 0, nil},
		{"MI-07 1001", addresses(1001), 1000, []string{"create IPv4 [a:80/TCP] 1000"}, 1, []string{TooManyAddressesToMirror}},
		{
			"MI-18 some invalid",
			[]string{"10.0.0.1", "x", "10.0.0.300", "!fe80::1%eth0", "!10.0.0.2"},
			1000,
			[]string{"create IPv4 [a:80/TCP] !10.0.0.2 10.0.0.1"},
			3,
			[]string{InvalidIPAddress},
		},
		{"MI-18 all invalid", []string{"x", "y"}, 1000, nil, 2, []string{InvalidIPAddress}},
		{"MI-18 invalid ones don't count", []string{"!a", "b", "10.0.0.1"}, 1, []string{"create IPv4 [a:80/TCP] 10.0.0.1"}, 2, []string{InvalidIPAddress}},
		{
			"MI-19 max 2 of 3",
			[]string{"10.0.0.3", "!10.0.0.1", "10.0.0.2"},
			2,
			[]string{"create IPv4 [a:80/TCP] 10.0.0.2 10.0.0.3"},
			1,
			[]string{TooManyAddressesToMirror},
		},
		{
			"both families count",
			[]string{"10.0.0.3", "!10.0.0.1", "fd00::1"},
			2,
			[]string{"create IPv4 [a:80/TCP] 10.0.0.3", "create IPv6 [a:80/TCP] fd00::1"},
			1,
			[]string{TooManyAddressesToMirror},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := Compute(endpointsOf(subset(append(test.words, "a:80")...)), bare(), nil, test.max)
			wantPlan(t, plan, test.want...)
			if plan.Stats.Skipped != test.skipped {
				t.Errorf("skipped %d, want %d", plan.Stats.Skipped, test.skipped)
			}
			if diff := cmp.Diff(test.reasons, reasons(plan)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMetadata checks the metadata of new slices.
func TestMetadata(t *testing.T) {
	own := map[string]string{discoveryv1.LabelServiceName: "foo", discoveryv1.LabelManagedBy: ManagedBy}
	tests := []struct {
		name                string
		edits               []func(*corev1.Endpoints)
		labels, annotations map[string]string
	}{
		{"MI-20 last-applied set", []func(*corev1.Endpoints){annotated(lastApplied, "{}"), annotated("a", "b")}, nil, map[string]string{"a": "b"}},
		{"MI-20 last-applied absent", []func(*corev1.Endpoints){annotated("a", "b")}, nil, map[string]string{"a": "b"}},
		{"MI-20 last-applied empty", []func(*corev1.Endpoints){annotated(lastApplied, ""), annotated("a", "b")}, nil, map[string]string{"a": "b"}},
		{"MI-21 plain", nil, nil, nil},
		{"MI-21 annotations", []func(*corev1.Endpoints){annotated("a", "b"), annotated("c", "")}, nil, map[string]string{"a": "b", "c": ""}},
		{"MI-21 labels", []func(*corev1.Endpoints){labelled("a", "b"), labelled(corev1.IsHeadlessService, "")}, map[string]string{"a": "b", corev1.IsHeadlessService: ""}, nil},
		{"MI-21 labels and annotations", []func(*corev1.Endpoints){labelled("a", "b"), annotated("a", "c")}, map[string]string{"a": "b"}, map[string]string{"a": "c"}},
		{"MI-21 trigger time", []func(*corev1.Endpoints){annotated(corev1.EndpointsLastChangeTriggerTime, "x"), annotated("a", "c")}, nil, map[string]string{"a": "c"}},
		{"MI-21 reserved labels", []func(*corev1.Endpoints){labelled(discoveryv1.LabelManagedBy, "x"), labelled(discoveryv1.LabelServiceName, "y")}, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := with(endpointsOf(subset("a:80", "10.0.0.1")), test.edits...)
			before := e.DeepCopy()
			want := metav1.ObjectMeta{
				Namespace: "ns", GenerateName: "foo-", Labels: map[string]string{}, Annotations: map[string]string{},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "v1", Kind: "Endpoints", Name: "foo", UID: "endpoints-uid",
					Controller: pointer(true), BlockOwnerDeletion: pointer(true),
				}},
			}
			for _, m := range []map[string]string{test.labels, own} {
				for k, v := range m {
					want.Labels[k] = v
				}
			}
			for k, v := range test.annotations {
				want.Annotations[k] = v
			}
			if diff := cmp.Diff(want, compute(e, bare(), nil).Create[0].ObjectMeta); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, e); diff != "" {
				t.Errorf("Endpoints changed:\n%s", diff)
			}
		})
	}
}

// TestUpdateKeepsMetadataOfOthers checks the metadata of an update.
func TestUpdateKeepsMetadataOfOthers(t *testing.T) {
	list := settled(t, endpointsOf(subset("a:80", "10.0.0.1")))
	list[0].Finalizers = []string{"example.org/x"}
	u := compute(with(endpointsOf(subset("a:80", "10.0.0.1")), labelled("team", "blue")), bare(), list).Update[0]
	if len(u.Finalizers) != 1 || u.UID != list[0].UID || u.ResourceVersion != list[0].ResourceVersion || u.Labels["team"] != "blue" {
		t.Errorf("update of %+v is %+v", list[0].ObjectMeta, u.ObjectMeta)
	}
}

// TestEndpoint is case MI-22.
func TestEndpoint(t *testing.T) {
	target := &corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "p", UID: "u", ResourceVersion: "7"}
	full := corev1.EndpointAddress{IP: "10.0.0.1", Hostname: "h", NodeName: pointer("n"), TargetRef: target}
	for _, ready := range []bool{true, false} {
		t.Run(fmt.Sprintf("MI-22 ready %v", ready), func(t *testing.T) {
			s := subset("a:80")
			s.Ports[0].AppProtocol = pointer("http")
			if ready {
				s.Addresses = []corev1.EndpointAddress{full}
			} else {
				s.NotReadyAddresses = []corev1.EndpointAddress{full}
			}
			made := compute(endpointsOf(s), bare(), nil).Create[0]
			want := []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				Hostname: pointer("h"), NodeName: pointer("n"), TargetRef: target,
			}}
			if diff := cmp.Diff(want, made.Endpoints); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
			port := []discoveryv1.EndpointPort{{
				Name: pointer("a"), Port: pointer(int32(80)), Protocol: pointer(corev1.ProtocolTCP), AppProtocol: pointer("http"),
			}}
			if diff := cmp.Diff(port, made.Ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("MI-22 bare address", func(t *testing.T) {
		made := compute(endpointsOf(subset("a:80", "10.0.0.1")), bare(), nil).Create[0].Endpoints[0]
		if made.Hostname != nil || made.NodeName != nil || made.TargetRef != nil || made.Zone != nil {
			t.Errorf("endpoint is %+v", made)
		}
	})
}
