package process

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube/kinds"
)

// unfiltered has a Service with internalTrafficPolicy Local, with three pods and an address
// without a workload, and another one with ExternalWorkloads.
const unfiltered = `
{apiVersion: v1, kind: Service, metadata: {name: pods}, spec: {internalTrafficPolicy: Local, ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: machines}, spec: {internalTrafficPolicy: Local, ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: node-1, containers: [{name: app, image: app}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {nodeName: node-2, containers: [{name: app, image: app}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: app, image: app}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods-v4, labels: {kubernetes.io/service-name: pods}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.0.0.1], targetRef: {kind: Pod, name: a}, hints: {forZones: [{name: east}]}}
- {addresses: [10.0.0.2], targetRef: {kind: Pod, name: b}, hints: {forZones: [{name: west}]}}
- {addresses: [10.0.0.3], targetRef: {kind: Pod, name: c}, hints: {forZones: [{name: west}]}}
- {addresses: [10.0.0.4], hints: {forZones: [{name: west}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: machines-v4, labels: {kubernetes.io/service-name: machines}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.0.1.1], targetRef: {kind: ExternalWorkload, name: a}, hints: {forZones: [{name: east}]}}
- {addresses: [10.0.1.2], targetRef: {kind: ExternalWorkload, name: b}, hints: {forZones: [{name: west}]}}
- {addresses: [10.0.1.4], hints: {forZones: [{name: west}]}}
`

const unfilteredMachines = `
{apiVersion: workload.linkerd.io/v1beta1, kind: ExternalWorkload, metadata: {name: a}, spec: {meshTLS: {identity: a, serverName: a}}}
---
{apiVersion: workload.linkerd.io/v1beta1, kind: ExternalWorkload, metadata: {name: b}, spec: {meshTLS: {identity: b, serverName: b}}}
`

// TestUnfiltered has the cases S1 and S7, in which filtering is off, as for clients in other
// clusters. It also has Q8: slices that name ExternalWorkloads which the catalog doesn't know,
// because none are read from other clusters. No stream can ask for either yet.
func TestUnfiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := catalog.New(catalog.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = known.Run(ctx) })
		defer running.Wait()
		defer cancel()
		put := func(text string) {
			objects, err := manifestsOf(text, "ns")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range newMemory(kinds.FromEndpointSlices).apply(t, objects).events {
				known.Put(e.object)
			}
			known.MarkSynced()
			settle()
		}
		compare := func(service string, want ...string) {
			t.Helper()
			snapshot := known.Service(catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: service})
			var got []string
			for _, e := range catalog.Resolve(snapshot, catalog.Query{Port: 80, IPv6: true}).Endpoints {
				got = append(got, e.Addr.String())
			}
			if diff := gocmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", service, diff)
			}
		}
		put(unfiltered)
		compare("pods", "10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080", "10.0.0.4:8080")
		compare("machines", "10.0.1.4:8080")
		put(unfilteredMachines)
		compare("machines", "10.0.1.1:8080", "10.0.1.2:8080", "10.0.1.4:8080")
	})
}
