package workload

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// objectsAfter returns the objects that exist after all edits before a time, by name. A terminating
// object has a deletion timestamp.
func objectsAfter(plan Plan, before time.Duration) map[string]Object {
	there := map[string]Object{}
	for _, e := range append(plan.Initial(), until(plan, before)...) {
		if e.Object == nil {
			continue
		}
		if there[name(e.Object)] = e.Object; e.Gone {
			delete(there, name(e.Object))
		}
	}
	return there
}

// compareObjects compares the objects of the cluster with the plan.
func compareObjects(t *testing.T, plan Plan, cluster *kubetest.Cluster, before time.Duration) {
	t.Helper()
	there := map[string]map[string]any{}
	for _, group := range []string{"v1 Service", "v1 Pod", "v1 Endpoints", "discovery.k8s.io/v1 EndpointSlice", "externaldns.k8s.io/v1alpha1 DNSEndpoint", "linkerd.io/v1alpha2 ServiceProfile", "policy.linkerd.io/v1beta3 Server", "workload.linkerd.io/v1beta1 ExternalWorkload"} {
		version, kind, _ := strings.Cut(group, " ")
		for _, o := range list(t, cluster.Dynamic, version, kind, plan.settings.Namespace) {
			there[kind+" "+o.GetName()] = o.Object
		}
	}
	want := objectsAfter(plan, before)
	for _, o := range want {
		if o.GetNamespace() == "" {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		got := there[name(o)]
		if wrong := compareObject(content, got); wrong != "" {
			t.Errorf("%s: %s", name(o), wrong)
		}
		delete(there, name(o))
	}
	for other := range there {
		t.Errorf("%s is there, and not in the plan", other)
	}
	if len(want) < 100 {
		t.Errorf("there are only %d objects to compare", len(want))
	}
}

func list(t *testing.T, client dynamic.Interface, apiVersion, kind, namespace string) []unstructured.Unstructured {
	t.Helper()
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	all, err := client.Resource(version.WithResource(resources[kind])).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// parts are the compared parts, which edits set. A kind without a part has no value on both sides.
var parts = []string{
	"metadata/labels", "metadata/annotations", "metadata/finalizers", "spec/ports", "spec/selector", "spec/type", "spec/publishNotReadyAddresses",
	"spec/nodeName", "spec/hostname", "spec/subdomain", "spec/endpoints", "spec/routes", "spec/retryBudget", "spec/proxyProtocol", "spec/podSelector", "spec/port",
	"spec/workloadIPs", "spec/meshTLS",
	"status/phase", "status/podIP", "status/podIPs", "status/hostIP", "status/hostIPs", "status/conditions", "status/loadBalancer", "endpoints", "ports", "subsets",
}

// compareObject returns how an object differs from the plan.
func compareObject(want, got map[string]any) string {
	if got == nil {
		return "isn't there"
	}
	for _, part := range parts {
		path := strings.Split(part, "/")
		w, _, _ := unstructured.NestedFieldCopy(want, path...)
		g, _, _ := unstructured.NestedFieldCopy(got, path...)
		if w, g = plain(w), plain(g); !reflect.DeepEqual(w, g) {
			return fmt.Sprintf("%s (-want +got): %s", part, cmp.Diff(w, g))
		}
	}
	_, planned, _ := unstructured.NestedFieldNoCopy(want, "metadata", "deletionTimestamp")
	_, terminating, _ := unstructured.NestedFieldNoCopy(got, "metadata", "deletionTimestamp")
	if planned != terminating {
		return fmt.Sprintf("terminating: %t, want %t", terminating, planned)
	}
	return ""
}

// plain returns a value in its JSON form, without empty values and defaults.
func plain(value any) any {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var v any
	if err := json.Unmarshal(content, &v); err != nil {
		panic(err)
	}
	return withoutEmpty(v)
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if part = withoutEmpty(part); part == nil || key == "ipMode" || key == "observedGeneration" {
				delete(v, key)
			} else {
				v[key] = part
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// compareZone compares the zone with the plan, and the history with the edits.
func compareZone(t *testing.T, plan Plan, bind *bindtest.Server, recorder *history.Recorder, before time.Duration) {
	t.Helper()
	origin := plan.settings.Zone
	want := map[string][]string{}
	parser := mdns.NewZoneParser(strings.NewReader("$TTL 300\n"+plan.ZoneRecords()+"\n"), origin, "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		addRecord(want, rr)
	}
	updates, made := 0, 0
	for _, e := range until(plan, before) {
		if e.Zone != nil {
			updates++
			made += applyUpdate(t, want, *e.Zone)
		}
	}
	got := transfer(t, bind, origin)
	for _, all := range []map[string][]string{want, got} {
		for key := range all {
			slices.Sort(all[key])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the zone (-want +got):\n%s", diff)
	}
	compareRecord(t, recorder.History(), origin, updates, made)
}

// compareRecord checks that each update is in the history.
func compareRecord(t *testing.T, h history.History, origin string, updates, made int) {
	t.Helper()
	answered, succeeded := 0, 0
	for _, e := range h.Entries {
		w := e.Write
		if w == nil || w.Replica != Person || w.Update == nil || w.Update.Zone != origin || len(w.Update.Names) != 1 || !strings.HasSuffix(w.Update.Names[0], "."+origin) {
			t.Errorf("recorded %+v", e)
			continue
		}
		if w.Status >= 0 && w.Status != mdns.RcodeNotAuth && w.Status != mdns.RcodeServerFailure {
			answered++
			if w.Responded < e.At {
				t.Errorf("answered at %s, sent at %s", w.Responded, e.At)
			}
		}
		if w.Status == mdns.RcodeSuccess {
			succeeded++
		}
	}
	// If the response of an update is lost, the next attempt finds the update applied.
	if answered != updates || succeeded > made || made == 0 {
		t.Errorf("%d updates have an answer, %d of them a good one: want %d and %d", answered, succeeded, updates, made)
	}
}

func recordKey(rr mdns.RR) string {
	return rr.Header().Name + " " + mdns.TypeToString[rr.Header().Rrtype]
}

func addRecord(all map[string][]string, rr mdns.RR) {
	all[recordKey(rr)] = append(all[recordKey(rr)], strings.TrimPrefix(rr.String(), rr.Header().String()))
}

// applyUpdate applies an edit by RFC 2136, and returns the number of updates.
func applyUpdate(t *testing.T, zone map[string][]string, e ZoneEdit) int {
	t.Helper()
	fresh, err := e.records(e.New)
	if err != nil {
		t.Fatal(err)
	}
	old, err := e.records(e.Old)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]string{}
	for _, rr := range old {
		addRecord(before, rr)
	}
	set := e.Name + " " + e.Type
	named := func(key string) bool { return strings.HasPrefix(key, e.Name+" ") }
	holds := true
	switch e.Require {
	case Unused:
		for key := range zone {
			holds = holds && !named(key)
		}
	case Mine:
		slices.Sort(before[set])
		there := slices.Sorted(slices.Values(zone[set]))
		holds = len(there) > 0 && slices.Equal(before[set], there)
	case Beside:
		holds = len(zone[e.Name+" A"]) > 0 && len(zone[set]) == 0
	case Theirs:
		holds = len(zone[set]) > 0
	}
	if !holds {
		return 0
	}
	if (e.Require == Mine || e.Require == Theirs) && !e.Keep {
		delete(zone, set)
	}
	for _, rr := range fresh {
		addRecord(zone, rr)
	}
	return 1
}

// transfer returns the zone without SOA and NS.
func transfer(t *testing.T, bind *bindtest.Server, origin string) map[string][]string {
	t.Helper()
	records, err := bind.Transfer(origin, bindtest.Key(personKey))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, rr := range records {
		if kind := rr.Header().Rrtype; kind != mdns.TypeSOA && kind != mdns.TypeNS {
			addRecord(all, rr)
		}
	}
	return all
}
