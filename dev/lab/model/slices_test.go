package model_test

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// lastRevision is the revision of the last object of put and state.
var lastRevision atomic.Int64

// put applies objects given as a resource and its JSON, each with the next revision.
func put(t *testing.T, s *model.State, objects ...string) {
	t.Helper()
	for i := 0; i < len(objects); i += 2 {
		var meta struct {
			Metadata struct{ Name, Namespace string }
		}
		if err := json.Unmarshal([]byte(objects[i+1]), &meta); err != nil {
			t.Fatalf("object %s: %v", objects[i+1], err)
		}
		s.Apply(history.Object{
			Resource: objects[i], Namespace: meta.Metadata.Namespace, Name: meta.Metadata.Name,
			Revision: lastRevision.Add(1), Content: json.RawMessage(objects[i+1]),
		})
	}
}

const (
	node0      = `{"metadata":{"name":"node-0","labels":{"topology.kubernetes.io/zone":"zone-0"}}}`
	webService = `{"metadata":{"namespace":"lab","name":"web","uid":"s"},"spec":{"type":"ClusterIP","clusterIP":"10.96.0.1","ipFamilies":["IPv4"],` +
		`"selector":{"app":"web"},"ports":[{"name":"http","port":80,"targetPort":"http","protocol":"TCP"},{"name":"admin","port":90,"targetPort":9090,"protocol":"TCP"}]}}`
	dual = `{"metadata":{"namespace":"lab","name":"web","uid":"s"},"spec":{"type":"ClusterIP","clusterIP":"None","ipFamilies":["IPv6","IPv4"],` +
		`"selector":{"app":"web"},"publishNotReadyAddresses":true}}`
)

// podText returns a pod with additional metadata, spec and status.
func podText(meta, spec, status string) string {
	return `{"metadata":{"namespace":"lab","name":"web-1","uid":"p1","labels":{"app":"web","x":"y"}` + meta + `},"spec":{"nodeName":"node-0",` +
		`"containers":[{"ports":[{"name":"http","containerPort":8080}]}]` + spec + `},"status":{"podIP":"10.64.0.1","podIPs":[{"ip":"10.64.0.1"},{"ip":"2001:db8::1"}]` + status + `}}`
}

const isReady = `,"conditions":[{"type":"Ready","status":"True"}]`

func texts(entries []model.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.String())
	}
	slices.Sort(out)
	return out
}

func TestPodEntries(t *testing.T) {
	const (
		target = "10.64.0.1 Pod lab/web-1 p1 "
		where  = "node=node-0 zone=zone-0 in IPv4 admin:TCP:9090:,http:TCP:8080:"
	)
	tests := []struct {
		name, service, pod string
		slices, endpoints  []string
	}{
		{
			"ready", webService, podText("", "", isReady),
			[]string{target + "ready=true serving=true terminating=false " + where},
			[]string{target + "ready=true node=node-0 port=admin:TCP:9090: in IPv4", target + "ready=true node=node-0 port=http:TCP:8080: in IPv4"},
		},
		{
			"not ready", webService, podText("", "", ""),
			[]string{target + "ready=false serving=false terminating=false " + where},
			[]string{target + "ready=false node=node-0 port=admin:TCP:9090: in IPv4", target + "ready=false node=node-0 port=http:TCP:8080: in IPv4"},
		},
		{
			"terminating", webService, podText(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, "", isReady),
			[]string{target + "ready=false serving=true terminating=true " + where},
			[]string{},
		},
		{
			"both families, without ports, published in any case", dual, podText(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `,"hostname":"h","subdomain":"web"`, ""),
			[]string{
				target + "ready=true serving=false terminating=true hostname=h node=node-0 zone=zone-0 in IPv4",
				"2001:db8::1 Pod lab/web-1 p1 ready=true serving=false terminating=true hostname=h node=node-0 zone=zone-0 in IPv6",
			},
			[]string{"2001:db8::1 Pod lab/web-1 p1 ready=true hostname=h node=node-0 in IPv6"},
		},
		{"done", webService, podText("", "", `,"phase":"Succeeded"`), []string{}, []string{}},
		{"not selected", `{"metadata":{"namespace":"lab","name":"web"},"spec":{"selector":{"app":"other"}}}`, podText("", "", isReady), []string{}, []string{}},
		{"no selector", `{"metadata":{"namespace":"lab","name":"web"},"spec":{"ports":[{"port":80}]}}`, podText("", "", isReady), []string{}, []string{}},
		{"on no known node", webService, podText("", `,"nodeName":"node-9"`, isReady), []string{}, []string{
			target + "ready=true node=node-9 port=admin:TCP:9090: in IPv4", target + "ready=true node=node-9 port=http:TCP:8080: in IPv4",
		}},
		{
			"without the port", `{"metadata":{"namespace":"lab","name":"web"},"spec":{"ipFamilies":["IPv4"],"selector":{"app":"web"},"ports":[{"port":80,"targetPort":"grpc"}]}}`,
			podText("", "", isReady),
			[]string{target + "ready=true serving=true terminating=false node=node-0 zone=zone-0 in IPv4"},
			[]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s model.State
			put(t, &s, "nodes", node0, "services", tt.service, "pods", tt.pod)
			if diff := cmp.Diff(tt.slices, texts(model.WantSlices(&s, "lab", "web")[model.SliceWriter])); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			endpoints, _ := model.WantEndpoints(&s, "lab", "web")
			if diff := cmp.Diff(tt.endpoints, texts(endpoints)); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkloadEntries(t *testing.T) {
	const machine = `{"metadata":{"namespace":"lab","name":"ext-0","uid":"w","labels":{"app":"web","topology.kubernetes.io/zone":"zone-1"}},` +
		`"spec":{"ports":[{"name":"http","port":8081}],"workloadIPs":[{"ip":"10.64.1.1"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	var s model.State
	put(t, &s, "services", webService, "externalworkloads", machine)
	want := []string{"10.64.1.1 ExternalWorkload lab/ext-0 w ready=true serving=true terminating=false zone=zone-1 in IPv4 http:TCP:8081:"}
	if diff := cmp.Diff(want, texts(model.WantSlices(&s, "lab", "web")[model.WorkloadWriter])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMirroredEntries(t *testing.T) {
	const (
		mirror = `{"metadata":{"namespace":"lab","name":"mirror"},"spec":{"ports":[{"port":80}]}}`
		hand   = `{"metadata":{"namespace":"lab","name":"mirror"},"subsets":[` +
			`{"addresses":[{"ip":"10.64.2.1"}],"notReadyAddresses":[{"ip":"10.64.2.2"}],"ports":[{"name":"a","port":1,"protocol":"TCP"},{"name":"b","port":2,"protocol":"TCP"}]},` +
			`{"addresses":[{"ip":"10.64.2.2"}],"ports":[{"name":"a","port":1,"protocol":"TCP"}]},` +
			`{"addresses":[{"ip":"2001:db8::2","hostname":"h"}],"ports":[{"name":"c","port":3,"protocol":"TCP"}]}]}`
	)
	var s model.State
	put(t, &s, "services", mirror, "endpoints", hand)
	want := []string{
		"10.64.2.1 ready=true in IPv4 a:TCP:1:,b:TCP:2:",
		"10.64.2.2 ready=false in IPv4 a:TCP:1:,b:TCP:2:",
		"2001:db8::2 ready=true hostname=h in IPv6 c:TCP:3:",
	}
	if diff := cmp.Diff(want, texts(model.WantSlices(&s, "lab", "mirror")[model.MirrorWriter])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	put(t, &s, "endpoints", `{"metadata":{"namespace":"lab","name":"mirror","labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}},"subsets":[{"addresses":[{"ip":"10.64.2.1"}]}]}`)
	if got := model.WantSlices(&s, "lab", "mirror")[model.MirrorWriter]; len(got) > 0 {
		t.Errorf("mirrors what isn't to be mirrored: %v", texts(got))
	}
}

func TestRecords(t *testing.T) {
	balancer := func(name, annotations, ingress string) string {
		return `{"metadata":{"namespace":"lab","name":"` + name + `","annotations":{` + annotations + `}},"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.2"},` +
			`"status":{"loadBalancer":{"ingress":[` + ingress + `]}}}`
	}
	const lb0 = `"external-dns.alpha.kubernetes.io/hostname":"LB-0.lab.example"`
	headless := `{"metadata":{"namespace":"lab","name":"web","annotations":{"external-dns.kubernetes.io/hostname":"head.lab.example."}},` +
		`"spec":{"type":"ClusterIP","clusterIP":"None","selector":{"app":"web"}}}`
	slice := `{"metadata":{"namespace":"lab","name":"web-x","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4","endpoints":[` +
		`{"addresses":["10.64.0.1"],"conditions":{"ready":true},"targetRef":{"kind":"Pod","namespace":"lab","name":"web-1"}},` +
		`{"addresses":["10.64.0.9"],"conditions":{"ready":true},"targetRef":{"kind":"Pod","namespace":"lab","name":"gone"}},` +
		`{"addresses":["10.64.0.8"],"conditions":{"ready":false},"targetRef":{"kind":"Pod","namespace":"lab","name":"web-1"}}]}`
	endpoint := `{"metadata":{"namespace":"lab","name":"dns-0"},"spec":{"endpoints":[` +
		`{"dnsName":"dns-0.lab.example","recordType":"TXT","targets":["text of 5"],"recordTTL":60},` +
		`{"dnsName":"dns-0.lab.example","recordType":"MX","targets":["10 Mail.cloud.example"]},` +
		`{"dnsName":"dns-0.lab.example","recordType":"CNAME","targets":["a.cloud.example"]},` +
		`{"dnsName":"other.example.org","recordType":"A","targets":["192.0.2.1"]},` +
		`{"dnsName":"bad.lab.example","recordType":"A","targets":["192.0.2.1."]},` +
		`{"dnsName":"srv.lab.example","recordType":"SRV","targets":["0 0 1 a."]}]}}`
	set := func(name, kind string, ttl int64, object string, targets ...string) model.RecordSet {
		return model.RecordSet{RecordKey: model.RecordKey{Name: name, Type: kind}, Targets: targets, TTL: ttl, Objects: []string{object}}
	}
	tests := []struct {
		name    string
		objects []string
		want    []model.RecordSet
	}{
		{
			"addresses of a load balancer",
			[]string{"services", balancer("lb-0", lb0+`,"external-dns.alpha.kubernetes.io/ttl":"1m"`, `{"ip":"203.0.113.9"},{"ip":"203.0.113.1"},{"ip":"2001:db8::1"}`)},
			[]model.RecordSet{
				set("lb-0.lab.example.", "A", 60, "service/lab/lb-0", "203.0.113.1", "203.0.113.9"),
				set("lb-0.lab.example.", "AAAA", 60, "service/lab/lb-0", "2001:db8::1"),
			},
		},
		{
			"its name",
			[]string{"services", balancer("lb-0", lb0, `{"hostname":"Balancer.cloud.example"}`)},
			[]model.RecordSet{set("lb-0.lab.example.", "CNAME", 0, "service/lab/lb-0", "balancer.cloud.example.")},
		},
		{
			"a name gives way to an address",
			[]string{"services", balancer("lb-0", lb0, `{"ip":"203.0.113.1","hostname":"balancer.cloud.example"}`)},
			[]model.RecordSet{set("lb-0.lab.example.", "A", 0, "service/lab/lb-0", "203.0.113.1")},
		},
		{"nothing yet", []string{"services", balancer("lb-0", lb0, "")}, nil},
		{"somebody else's", []string{"services", balancer("lb-0", lb0+`,"external-dns.kubernetes.io/controller":"other"`, `{"ip":"203.0.113.1"}`)}, nil},
		{"without an annotation", []string{"services", balancer("lb-0", "", `{"ip":"203.0.113.1"}`)}, nil},
		{
			"two ask for one name",
			[]string{"services", balancer("lb-0", lb0, `{"ip":"203.0.113.2"}`), "services", balancer("lb-1", lb0, `{"ip":"203.0.113.1"}`)},
			[]model.RecordSet{{RecordKey: model.RecordKey{Name: "lb-0.lab.example.", Type: "A"}, Targets: []string{"203.0.113.1", "203.0.113.2"}, Objects: []string{"service/lab/lb-0", "service/lab/lb-1"}}},
		},
		{
			"headless",
			[]string{"services", headless, "endpointslices", slice, "pods", podText("", `,"hostname":"h"`, isReady)},
			[]model.RecordSet{
				set("h.head.lab.example.", "A", 0, "service/lab/web", "10.64.0.1"),
				set("head.lab.example.", "A", 0, "service/lab/web", "10.64.0.1"),
			},
		},
		{
			"an object of its own",
			[]string{"dnsendpoints", endpoint},
			[]model.RecordSet{
				set("dns-0.lab.example.", "MX", 0, "crd/lab/dns-0", "10 mail.cloud.example."),
				set("dns-0.lab.example.", "TXT", 60, "crd/lab/dns-0", "text of 5"),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s model.State
			put(t, &s, tt.objects...)
			var got []model.RecordSet
			for _, sets := range model.WantRecords(&s, "lab", []string{"lab.example."}) {
				got = append(got, sets...)
			}
			slices.SortFunc(got, func(a, b model.RecordSet) int {
				if a.Name+a.Type < b.Name+b.Type {
					return -1
				}
				return 1
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
