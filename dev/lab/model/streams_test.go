package model_test

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// stateOf applies objects, written as RESOURCE NAME JSON.
func stateOf(objects ...string) *model.State {
	s := &model.State{}
	for i, text := range objects {
		parts := strings.SplitN(text, " ", 3)
		s.Apply(history.Object{Resource: parts[0], Namespace: "lab", Name: parts[1], Revision: int64(i + 1), Content: json.RawMessage(parts[2])})
	}
	return s
}

const (
	service = `services web {"metadata":{"name":"web","namespace":"lab"},"spec":{"ports":[
		{"name":"dns","port":53,"protocol":"UDP"},{"name":"http","port":80},{"name":"dns-tcp","port":53,"protocol":"TCP"}]}}`
	podA  = `pods a {"metadata":{"name":"a","namespace":"lab","uid":"1"}}`
	podB  = `pods b {"metadata":{"name":"b","namespace":"lab","uid":"2"}}`
	slice = `endpointslices web-1 {"metadata":{"name":"web-1","namespace":"lab","labels":{"kubernetes.io/service-name":"web"}},
		"ports":[{"name":"http","port":8080},{"name":"dns","port":1053},{"name":"dns-tcp","port":2053}],"endpoints":[
		{"addresses":["10.0.0.1"],"hostname":"one","zone":"east","targetRef":{"kind":"Pod","namespace":"lab","name":"a","uid":"1"}},
		{"addresses":["10.0.0.2"],"conditions":{"ready":true},"targetRef":{"kind":"Pod","namespace":"lab","name":"b"}},
		{"addresses":["10.0.0.3"],"conditions":{"ready":false},"targetRef":{"kind":"Pod","namespace":"lab","name":"b"}},
		{"addresses":["10.0.0.4"],"targetRef":{"kind":"Pod","namespace":"lab","name":"missing"}},
		{"addresses":["10.0.0.5"],"targetRef":{"kind":"Pod","namespace":"lab","name":"a","uid":"before"}},
		{"addresses":["10.0.0.6"],"targetRef":{"kind":"Node","name":"n"}},
		{"addresses":["10.0.0.7","10.0.0.8"]}]}`
)

func TestGetResponse(t *testing.T) {
	with := func(old, replacement string) []string {
		var out []string
		for _, o := range []string{service, podA, podB, slice} {
			out = append(out, strings.Replace(o, old, replacement, 1))
		}
		return out
	}
	tests := []struct {
		name    string
		objects []string
		path    string
		exists  bool
		want    []string
	}{
		{"nothing", nil, "web.lab.svc.cluster.local:80", false, nil},
		{"the port's name leads to the slice's", with("", ""), "web.lab.svc.cluster.local:80", true, []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.7:8080", "10.0.0.8:8080"}},
		{"port 80 if the path has none", with("", ""), "web.lab.svc.cluster.local", true, []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.7:8080", "10.0.0.8:8080"}},
		{"TCP before UDP", with("", ""), "web.lab.svc.cluster.local:53", true, []string{"10.0.0.1:2053", "10.0.0.2:2053", "10.0.0.7:2053", "10.0.0.8:2053"}},
		{"a port that isn't declared", with("", ""), "web.lab.svc.cluster.local:5959", true, []string{"10.0.0.1:5959", "10.0.0.2:5959", "10.0.0.7:5959", "10.0.0.8:5959"}},
		{"a hostname", with("", ""), "one.web.lab.svc.cluster.local:80", true, []string{"10.0.0.1:8080"}},
		{"a slice without the port", with(`"http","port":8080`, `"other","port":8080`), "web.lab.svc.cluster.local:80", true, nil},
		{"a slice without ports", with(`{"name":"http","port":8080},{"name":"dns","port":1053},{"name":"dns-tcp","port":2053}`, ``), "web.lab.svc.cluster.local:5959", true, nil},
		{"a slice of another Service", with(`"kubernetes.io/service-name":"web"`, `"kubernetes.io/service-name":"shop"`), "web.lab.svc.cluster.local:80", true, nil},
		{"ExternalName", with(`"spec":{"ports"`, `"spec":{"type":"ExternalName","ports"`), "web.lab.svc.cluster.local:80", true, nil},
		{"slices without their Service", with("services web", "services other"), "web.lab.svc.cluster.local:80", false, nil},
		{
			"an ExternalWorkload of the slice's namespace",
			append(with(`"kind":"Pod","namespace":"lab","name":"a","uid":"1"`, `"kind":"ExternalWorkload","namespace":"other","name":"vm"`), `externalworkloads vm {"metadata":{"name":"vm"}}`),
			"one.web.lab.svc.cluster.local:80", true,
			[]string{"10.0.0.1:8080"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target, err := model.ParseTarget(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			a := model.GetResponse(stateOf(tt.objects...), target)
			var got []string
			for at := range a.Endpoints {
				got = append(got, at.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" || a.Exists != tt.exists {
				t.Errorf("exists %t, addresses (-want +got):\n%s", a.Exists, diff)
			}
		})
	}
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		path string
		want model.Target
	}{
		{"web.lab.svc.cluster.local:90", model.Target{Service: "web", Namespace: "lab", Name: "web.lab.svc.cluster.local", Port: 90}},
		{"one.web.lab.svc.example:90", model.Target{Hostname: "one", Service: "web", Namespace: "lab", Name: "web.lab.svc.example", Port: 90}},
		{"10.0.0.1:90", model.Target{IP: netip.MustParseAddr("10.0.0.1"), Port: 90}},
		{"[fd00::1]:90", model.Target{IP: netip.MustParseAddr("fd00::1"), Port: 90}},
	}
	for _, tt := range tests {
		got, err := model.ParseTarget(tt.path)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.path, got, err, tt.want)
		}
	}
	for _, path := range []string{"", "web:80", "web.lab.svc", "a.b.c.d.svc.cluster.local", "web.lab.svc.cluster.local:0", "web.lab.svc.cluster.local:99999", "fd00::1:90:x"} {
		if got, err := model.ParseTarget(path); err == nil {
			t.Errorf("%q was read as %+v", path, got)
		}
	}
}

// TestObjections compares reported endpoints with their pods.
func TestObjections(t *testing.T) {
	s := stateOf(service, slice, podB,
		`pods a {"metadata":{"name":"a","namespace":"lab","uid":"1","labels":{"linkerd.io/control-plane-ns":"linkerd","pod-template-hash":"7"}},"spec":{"serviceAccountName":"front"}}`)
	target, err := model.ParseTarget("web.lab.svc.cluster.local:80")
	if err != nil {
		t.Fatal(err)
	}
	e := model.GetResponse(s, target).Endpoints[netip.MustParseAddrPort("10.0.0.1:8080")][0]
	right := `{"metricLabels":{"service":"web","namespace":"lab","pod":"a","serviceaccount":"front","control_plane_ns":"linkerd","pod_template_hash":"7","zone":"east"},
		"tlsIdentity":{"dnsLikeIdentity":{"name":"front.lab.serviceaccount.identity.linkerd.cluster.local"}},"weight":10000}`
	tests := []struct{ name, old, replacement, want string }{
		{"right", "", "", ""},
		{"weight", "10000", "1", "the weight is 1"},
		{"pod", `"pod":"a"`, `"pod":"b"`, `the label pod is "b"`},
		{"account", `"serviceaccount":"front"`, `"serviceaccount":"default"`, `the label serviceaccount is "default"`},
		{"no zone", `,"zone":"east"`, ``, `the label zone is "", not "east"`},
		{"identity", `"name":"front.lab`, `"name":"root.lab`, `the identity is "root.lab`},
	}
	for _, tt := range tests {
		reported, err := model.ReadAddress(strings.Replace(right, tt.old, tt.replacement, 1))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(model.Objections(s, target, "cluster.local", e, reported), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, err := model.ReadAddress("weight 1"); err == nil {
		t.Error("a text that isn't JSON was read")
	}
}

func TestGetProfileResponse(t *testing.T) {
	const profile = `serviceprofiles web.lab.svc.cluster.local {"spec":{"routes":[{"name":"r1"},{"name":"r2"}],"retryBudget":{"retryRatio":0.5,"minRetriesPerSecond":3,"ttl":"5s"}}}`
	annotated := strings.Replace(service, `"namespace":"lab"`, `"namespace":"lab","annotations":{"config.linkerd.io/opaque-ports":"25, 50-60,http"}`, 1)
	withIP := strings.Replace(service, `"spec":{`, `"spec":{"clusterIPs":["10.96.0.1"],`, 1)
	standard := model.Budget{Ratio: 0.2, Min: 10, TTL: 10 * time.Second}
	const name = "web.lab.svc.cluster.local"
	tests := []struct {
		name    string
		objects []string
		path    string
		want    model.Profile
		ok      bool
	}{
		{"default", []string{service}, name + ":80", model.Profile{Name: name, Budget: standard}, true},
		{"ServiceProfile", []string{service, profile}, name + ":80", model.Profile{Name: name, Routes: "r1\nr2", Budget: model.Budget{Ratio: 0.5, Min: 3, TTL: 5 * time.Second}}, true},
		{"the Service is gone", []string{profile}, name + ":80", model.Profile{Name: name, Routes: "r1\nr2", Budget: model.Budget{Ratio: 0.5, Min: 3, TTL: 5 * time.Second}}, true},
		{"a budget without time", []string{service, strings.Replace(profile, "5s", "soon", 1)}, name + ":80", model.Profile{Name: name, Budget: standard}, true},
		{"opaque by name", []string{annotated}, name + ":80", model.Profile{Name: name, Budget: standard, Opaque: true}, true},
		{"opaque by range", []string{annotated}, name + ":53", model.Profile{Name: name, Budget: standard, Opaque: true}, true},
		{"undeclared", []string{service}, name + ":81", model.Profile{}, true},
		{"ExternalName", []string{strings.Replace(service, `"spec":{`, `"spec":{"type":"ExternalName",`, 1)}, name + ":80", model.Profile{}, false},
		{"cluster IP", []string{withIP}, "10.96.0.1:80", model.Profile{Name: name, Budget: standard}, true},
		{"pod", []string{`pods a {"status":{"phase":"Running","podIP":"10.0.0.1"}}`}, "10.0.0.1:80", model.Profile{Budget: standard, Workload: "a"}, true},
		{"no workload", nil, "10.0.0.1:80", model.Profile{}, false},
		{"hostname", []string{service}, "one." + name + ":80", model.Profile{}, false},
	}
	for _, tt := range tests {
		target, err := model.ParseTarget(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := model.GetProfileResponse(stateOf(tt.objects...), "lab", target)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v %t, want %+v %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestReadProfile(t *testing.T) {
	tests := map[string]model.Profile{
		`{}`: {},
		`{"fullyQualifiedName":"web","opaqueProtocol":true,"retryBudget":{"retryRatio":0.5,"minRetriesPerSecond":3,"ttl":"5s"},"routes":[{"metricsLabels":{"route":"r1"}},{}]}`: {
			Name: "web", Opaque: true, Routes: "r1\n", Budget: model.Budget{Ratio: 0.5, Min: 3, TTL: 5 * time.Second},
		},
		`{"endpoint":{"metricLabels":{"pod":"a"}},"opaqueProtocol":true}`: {Workload: "a"},
	}
	for _, text := range slices.Sorted(maps.Keys(tests)) {
		if got, err := model.ReadProfile(json.RawMessage(text)); err != nil || got != tests[text] {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, tests[text])
		}
	}
	if _, err := model.ReadProfile(json.RawMessage(`{"no":1}`)); err == nil {
		t.Error("an unknown field was read")
	}
}
