package model_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dev/lab/model"
)

// TestAssignmentOf covers ready and draining endpoints, of TCP ports that the Service declares (spec/xds.md
// cases 14, 17 and 26).
func TestAssignmentOf(t *testing.T) {
	const path = "web.lab.svc.cluster.local:80"
	drainingSlice := func(conditions ...string) string {
		var endpoints []string
		for i, c := range conditions {
			endpoints = append(endpoints, `{"addresses":["10.0.1.`+string(rune('1'+i))+`"],"conditions":{`+c+`}}`)
		}
		return `endpointslices web-2 {"metadata":{"name":"web-2","namespace":"lab","labels":{"kubernetes.io/service-name":"web"}},
			"ports":[{"name":"http","port":8080}],"endpoints":[` + strings.Join(endpoints, ",") + `]}`
	}
	const draining, goes = `"ready":false,"serving":true,"terminating":true`, `"ready":false,"serving":false,"terminating":true`
	tests := []struct {
		name    string
		objects []string
		path    string
		want    []string
	}{
		{"nothing", nil, path, nil},
		{"ready ones", []string{service, podA, podB, slice}, path, []string{"10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.7:8080", "10.0.0.8:8080"}},
		{"of one hostname", []string{service, podA, podB, slice}, "one.web.lab.svc.cluster.local:80", []string{"10.0.0.1:8080"}},
		{"a port that isn't declared", []string{service, podA, podB, slice}, "web.lab.svc.cluster.local:8080", nil},
		{"the TCP port of a number", []string{service, podA, slice}, "web.lab.svc.cluster.local:53", []string{"10.0.0.1:2053", "10.0.0.7:2053", "10.0.0.8:2053"}},
		{"a UDP port", []string{strings.Replace(service, `,"protocol":"TCP"`, `,"protocol":"UDP"`, 1), podA, slice}, "web.lab.svc.cluster.local:53", nil},
		{"ExternalName", []string{strings.Replace(service, `"spec":{`, `"spec":{"type":"ExternalName",`, 1), podA, slice}, path, nil},
		{"draining beside ready", []string{service, drainingSlice("", draining, goes)}, path, []string{"10.0.1.1:8080", "10.0.1.2:8080 draining"}},
		{"not ready", []string{service, drainingSlice("", `"ready":false,"serving":true`, `"ready":false`)}, path, []string{"10.0.1.1:8080"}},
		{"serving by default", []string{service, drainingSlice("", `"ready":false,"terminating":true`)}, path, []string{"10.0.1.1:8080", "10.0.1.2:8080 draining"}},
		{"only draining ones are used", []string{service, drainingSlice(draining)}, path, []string{"10.0.1.1:8080"}},
		{"ready in one slice and draining in another", []string{
			service, strings.Replace(drainingSlice(draining), "web-2", "web-0", 2), drainingSlice("", ""),
		}, path, []string{"10.0.1.1:8080", "10.0.1.2:8080"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			target, err := model.ParseTarget(tt.path)
			if err != nil {
				t.Fatal(err)
			}
			a := model.AssignmentOf(stateOf(tt.objects...), target)
			var got []string
			for _, at := range slices.SortedFunc(maps.Keys(a), netip.AddrPort.Compare) {
				text := at.String()
				if a[at] {
					text += " draining"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
