package process

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/kube"
)

// A replica whose credentials stay refused becomes unready, and says what to do (day2 B5).
func TestRefusedCredentials(t *testing.T) {
	refusedFor := func(d time.Duration) kube.TableStatus {
		return kube.TableStatus{
			Resource: schema.GroupResource{Resource: "pods"}, Required: true, State: kube.Waiting, Reason: kube.Unauthorized, Filled: true, Stale: d,
		}
	}
	if refused(refusedFor(59 * time.Second)) {
		t.Error("a short refusal counts")
	}
	if !refused(refusedFor(time.Minute)) {
		t.Error("a long refusal doesn't count")
	}
	other := refusedFor(time.Hour)
	other.Reason = kube.Unreachable
	if refused(other) {
		t.Error("an API server that is away makes all replicas unready")
	}
	optional := refusedFor(time.Hour)
	optional.Required = false
	if refused(optional) {
		t.Error("an optional kind makes the replica unready")
	}
	if lines := missing(refusedFor(time.Hour)); len(lines) != 1 || !strings.Contains(lines[0], "valid credentials, and restart it if they are in its kubeconfig") {
		t.Errorf("%q", lines)
	}
}

// /ready lists a missing kind only if it is required, has known objects, or is read by a source of DNS records.
func TestMissingKindsThatAreNeeded(t *testing.T) {
	kind := func(name string, required bool, objects int, reason kube.Reason) kube.TableStatus {
		return kube.TableStatus{
			Resource: schema.GroupResource{Group: "example.org", Resource: name}, State: kube.Waiting, Reason: reason, Required: required, Objects: objects,
		}
	}
	needed := neededOf([]kube.TableStatus{
		kind("optional", false, 0, kube.NotFound),
		kind("required", true, 0, kube.NotFound),
		kind("known", false, 3, kube.NotFound),
		kind("forbidden", false, 0, kube.Forbidden),
		kind("sources", false, 0, kube.NotFound),
	}, map[schema.GroupResource]bool{{Group: "example.org", Resource: "sources"}: true})
	var got []string
	for _, t := range needed {
		got = append(got, t.Resource.Resource)
	}
	if want := []string{"required", "known", "forbidden", "sources"}; !slices.Equal(got, want) {
		t.Errorf("/ready lists %q, want %q", got, want)
	}
}

// The kinds of sources are those of the tables of the dns role, and no others.
func TestSourcesOf(t *testing.T) {
	table := func(group, resource string) kube.AnyTable {
		return kube.Kind[struct{}]{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}.Table()
	}
	got := sourcesOf([]role{
		{Name: settings.DestinationSection, Tables: []kube.AnyTable{table("", "services"), table("policy.linkerd.io", "servers")}},
		{Name: settings.DNSSection, Tables: []kube.AnyTable{table("", "services"), table("networking.k8s.io", "ingresses")}},
		{Name: settings.DNSSection, Tables: []kube.AnyTable{table("gateway.networking.k8s.io", "httproutes")}},
	})
	want := map[schema.GroupResource]bool{
		{Resource: "services"}: true, {Group: "networking.k8s.io", Resource: "ingresses"}: true,
		{Group: "gateway.networking.k8s.io", Resource: "httproutes"}: true,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the sources read %v, want %v", got, want)
	}
}

// If the API server is unreachable, one line of /ready has all kinds.
func TestUnreachableKindsShareALine(t *testing.T) {
	unreachable := func(group, resource, failure string) kube.TableStatus {
		return kube.TableStatus{
			Resource: schema.GroupResource{Group: group, Resource: resource}, State: kube.Waiting, Reason: kube.Unreachable,
			Detail: "the API server https://10.0.0.1:6443 can't be reached: " + failure,
		}
	}
	got := detailsOf([]kube.TableStatus{
		unreachable("", "services", "EOF"),
		{Resource: schema.GroupResource{Resource: "nodes"}, State: kube.Synced},
		unreachable("discovery.k8s.io", "endpointslices", "EOF"),
		{Resource: schema.GroupResource{Resource: "pods"}, State: kube.Waiting, Reason: kube.Forbidden, Detail: "pods is forbidden"},
		unreachable("", "secrets", "connection refused"),
	})
	want := []string{
		"pods: waiting forbidden: grant list and watch on pods to this process: pods is forbidden",
		"services, endpointslices.discovery.k8s.io: waiting unreachable: the API server https://10.0.0.1:6443 can't be reached: EOF",
		"secrets: waiting unreachable: the API server https://10.0.0.1:6443 can't be reached: connection refused",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the lines are\n%q\nwant\n%q", got, want)
	}
}
