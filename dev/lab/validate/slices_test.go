package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// TestSlicesRandomly shows that a leader that lags behind, but never goes back, gets no findings.
func TestSlicesRandomly(t *testing.T) {
	for seed := range uint64(20) {
		h := newClusterRun(seed).play(60).calm().history()
		wantFinding(t, sliceOrder(), h, "")
		wantFinding(t, settledWriters(), h, "")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// servedSlice returns a slice with a ready endpoint of an existing Service.
func (r *clusterRun) servedSlice() (string, *discoveryv1.EndpointSlice) {
	for _, name := range slices.Sorted(maps.Keys(r.slices)) {
		slice := r.slices[name]
		service := r.services[slice.Labels[discoveryv1.LabelServiceName]]
		if service != nil && service.UID == slice.OwnerReferences[0].UID && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return *e.Conditions.Ready }) {
			return name, slice.DeepCopy()
		}
	}
	return "", nil
}

// serve returns a slice with a ready endpoint when the leader is up to date.
func (r *clusterRun) serve() (string, *discoveryv1.EndpointSlice) {
	if r.services["web-0"] == nil {
		r.createService("web-0")
	}
	service := r.services["web-0"].DeepCopy()
	service.Spec.Selector = map[string]string{"app": "web-0"}
	r.services["web-0"] = service
	r.store("services", "web-0", service)
	for range 2 {
		r.setReady(r.createPod("web-0"), true)
	}
	r.podsSeen, r.servicesSeen = r.revision, r.revision
	r.sync()
	return r.servedSlice()
}

func TestSliceOrder(t *testing.T) {
	tests := []struct {
		name string
		play func(r *clusterRun)
		want string
		// quiet is true for errors that are certain only if nothing else has happened, because a lagging
		// leader may have an old reason.
		quiet bool
	}{
		{name: "a leader that knows less than the one before", play: func(r *clusterRun) {
			before := r.revision
			name := r.createPod("web-0")
			r.setReady(name, true)
			r.podsSeen = r.revision
			r.sync()
			r.podsSeen = before
			r.sync()
		}, want: "older than that of the write before"},
		{name: "an endpoint that no pod is", play: func(r *clusterRun) {
			name, slice := r.servedSlice()
			slice.Endpoints[0].Addresses[0] = "10.99.0.1"
			r.putSlice(name, slice)
		}, want: "nothing that the model says of any state"},
		{name: "a condition that no pod had", play: func(r *clusterRun) {
			name, slice := r.servedSlice()
			for n := range slice.Endpoints {
				serving := *slice.Endpoints[n].Conditions.Serving != *slice.Endpoints[n].Conditions.Ready
				slice.Endpoints[n].Conditions.Serving = &serving
			}
			r.putSlice(name, slice)
		}, want: "nothing that the model says of any state"},
		{name: "twice", play: func(r *clusterRun) {
			_, slice := r.servedSlice()
			r.putSlice("web-0-again", slice)
		}, want: "times"},
		{name: "lost", play: func(r *clusterRun) {
			name, slice := r.servedSlice()
			slice.Endpoints = slice.Endpoints[:len(slice.Endpoints)-1]
			r.putSlice(name, slice)
		}, want: "although it was selected and ready", quiet: true},
		{name: "deleted", play: func(r *clusterRun) {
			name, _ := r.servedSlice()
			r.deleteSlice(name)
		}, want: "although it was selected and ready", quiet: true},
		{name: "of somebody else", play: func(r *clusterRun) {
			r.store("endpointslices", "own-0-person", &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "own-0-person", Labels: map[string]string{discoveryv1.LabelManagedBy: "person.lab.example"}}})
			r.write("delete", "endpointslices", "own-0-person")
		}, want: "isn't a slice of Signpost"},
		{name: "without a precondition", play: func(r *clusterRun) {
			name, _ := r.servedSlice()
			r.writeIf("", "update", "endpointslices", name)
		}, want: "without a precondition"},
		{name: "Endpoints without a precondition", play: func(r *clusterRun) {
			r.writeIf("", "update", "endpoints", "web-0")
		}, want: "without a precondition"},
		{name: "Endpoints by hand", play: func(r *clusterRun) {
			r.store("services", "mirror-0", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}})
			r.write("update", "endpoints", "mirror-0")
		}, want: "were written by hand"},
		{name: "Endpoints of a Service that is gone", play: func(r *clusterRun) {
			r.store("services", "mirror-0", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}})
			r.store("services", "mirror-0", nil)
			r.write("delete", "endpoints", "mirror-0")
		}, want: ""},
		{name: "Endpoints that no state had", play: func(r *clusterRun) {
			o := r.written["web-0"].DeepCopy()
			o.Subsets[0].Addresses = append(o.Subsets[0].Addresses, corev1.EndpointAddress{IP: "10.99.0.1"})
			r.store("endpoints", "web-0", o)
		}, want: "endpoints web-0"},
		{name: "slices that change places", play: func(r *clusterRun) {
			pair := func() (first, second string) {
				first, second = r.createPod("web-1"), r.createPod("web-1")
				r.pods[first].Spec.Containers[0].Ports[0].ContainerPort = 8080
				r.pods[second].Spec.Containers[0].Ports[0].ContainerPort = 8081
				r.setReady(first, true)
				r.setReady(second, true)
				return first, second
			}
			write := func(slice, group string) {
				r.podsSeen = r.revision
				want := model.WantSlices(r.seen(), "lab", "web-1")[model.SliceWriter]
				want = slices.DeleteFunc(want, func(e model.Entry) bool { return e.Group != group })
				r.putSlice(slice, newTestSlice(r.services["web-1"], group, want))
			}
			first, second := pair()
			write("one", "IPv4 http:TCP:8080:")
			write("two", "IPv4 http:TCP:8081:")
			r.deletePod(first)
			r.deletePod(second)
			pair()
			write("one", "IPv4 http:TCP:8081:")
			write("two", "IPv4 http:TCP:8080:")
		}, want: "", quiet: true},
		{name: "Endpoints that are made again before the leader knows that their Service is gone", play: func(r *clusterRun) {
			o := r.written["web-0"]
			r.store("services", "web-0", nil)
			r.store("endpoints", "web-0", nil)
			r.store("endpoints", "web-0", o)
			r.store("endpoints", "web-0", nil)
		}, want: "", quiet: true},
		{name: "a slice that no Service had", play: func(r *clusterRun) {
			slice := newTestSlice(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ghost", UID: "ghost"}}, "IPv4 ", nil)
			r.putSlice("ghost-1", slice)
			r.calm()
		}, want: `there is no Service "ghost"`},
		{name: "no object", play: func(r *clusterRun) {
			r.store("pods", "bad", []int{1})
		}, want: "can't be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := newClusterRun(seed)
				if !tt.quiet {
					r.play(20)
				}
				r.serve()
				tt.play(r)
				findings := sliceOrder().Check(r.history())
				if tt.want == "" {
					wantFinding(t, sliceOrder(), r.history(), "")
					continue
				}
				if !slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.String(), tt.want) && f.Validator == "V5" }) {
					t.Errorf("seed %d: no finding says %q: %v", seed, tt.want, findings)
				}
			}
		})
	}
}

func TestSettledSlices(t *testing.T) {
	tests := []struct {
		name string
		play func(r *clusterRun) // after the last sync
		want string
	}{
		{"a pod is missing", func(r *clusterRun) { r.setReady(r.createPod("web-0"), true) }, "slices of web-0 by endpointslice-controller.k8s.io"},
		{"a pod is gone", func(r *clusterRun) {
			_, slice := r.servedSlice()
			r.deletePod(slice.Endpoints[0].TargetRef.Name)
		}, "shouldn't be"},
		{"no slice at all", func(r *clusterRun) { r.createService("web-9") }, "none of family IPv4"},
		{"no Endpoints", func(r *clusterRun) { r.createService("web-9") }, "there are none"},
		{"a slice of the Service before", func(r *clusterRun) {
			service := r.services["web-0"].DeepCopy()
			service.UID = "another"
			r.store("services", "web-0", service)
		}, "before the present one"},
		{"Endpoints without a Service", func(r *clusterRun) {
			r.store("endpoints", "ghost", &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "ghost"}})
		}, "there is no Service of this name"},
		{"Endpoints that aren't mirrored", func(r *clusterRun) {
			r.store("services", "mirror-0", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}})
			r.store("endpoints", "mirror-0", &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}, Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.64.9.9"}}}}})
		}, "slices of mirror-0 by endpointslicemirroring-controller.k8s.io"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newClusterRun(1).play(10)
			r.serve()
			tt.play(r)
			r.entries = append(r.entries, history.Entry{At: r.now + time.Second, Calm: &history.Calm{}})
			findings := settledWriters().Check(r.history())
			if !slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.String(), tt.want) && f.Validator == "V1" }) {
				t.Errorf("no finding says %q: %v", tt.want, findings)
			}
		})
	}
}

// TestSettledNever shows that nothing is reported without a calm.
func TestSettledNever(t *testing.T) {
	wantFinding(t, settledWriters(), newClusterRun(1).history(), "no time at which everything was calm")
}

// TestOtherSlices shows that mirrored slices and slices of ExternalWorkloads are checked like those of pods.
func TestOtherSlices(t *testing.T) {
	hand := func(ip string) *corev1.Endpoints {
		return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}, Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: ip}}, Ports: []corev1.EndpointPort{{Name: "http", Port: 8080, Protocol: corev1.ProtocolTCP}},
		}}}
	}
	mirror := func(ip string) *discoveryv1.EndpointSlice {
		slice := newTestSlice(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "mirror-0"}}, "IPv4 http:TCP:8080:", []model.Entry{{Address: ip, State: "ready=true"}})
		slice.Labels[discoveryv1.LabelManagedBy], slice.OwnerReferences = string(model.MirrorWriter), nil
		return slice
	}
	machine := func(ready string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"namespace": "lab", "name": "ext-0", "uid": "w", "labels": map[string]string{"app": "web-0"}},
			"spec":     map[string]any{"ports": []map[string]any{{"name": "http", "port": 8080}}, "workloadIPs": []map[string]any{{"ip": "10.65.0.1"}}},
			"status":   map[string]any{"conditions": []map[string]any{{"type": "Ready", "status": ready}}},
		}
	}
	external := func(r *clusterRun, ready string) *discoveryv1.EndpointSlice {
		slice := newTestSlice(r.services["web-0"], "IPv4 http:TCP:8080:", []model.Entry{{
			Address: "10.65.0.1", Target: "ExternalWorkload lab/ext-0 w", State: "ready=" + ready + " serving=" + ready + " terminating=false",
		}})
		slice.Labels[discoveryv1.LabelManagedBy] = string(model.WorkloadWriter)
		return slice
	}
	tests := []struct {
		name string
		play func(r *clusterRun)
		want string
	}{
		{"mirrored, and mirrored again", func(r *clusterRun) {
			for _, ip := range []string{"10.66.0.1", "10.66.0.2"} {
				r.store("endpoints", "mirror-0", hand(ip))
				r.putSlice("mirror-0-x", mirror(ip))
			}
		}, ""},
		{"mirrored back", func(r *clusterRun) {
			for _, ip := range []string{"10.66.0.1", "10.66.0.2"} {
				r.store("endpoints", "mirror-0", hand(ip))
				r.putSlice("mirror-0-x", mirror(ip))
			}
			r.putSlice("mirror-0-x", mirror("10.66.0.1"))
		}, "older than that of the write before"},
		{"not mirrored any more", func(r *clusterRun) {
			r.store("endpoints", "mirror-0", hand("10.66.0.1"))
			r.putSlice("mirror-0-x", mirror("10.66.0.1"))
			r.store("endpoints", "mirror-0", nil)
			r.deleteSlice("mirror-0-x")
		}, ""},
		{"an ExternalWorkload", func(r *clusterRun) {
			r.store("externalworkloads", "ext-0", machine("True"))
			r.putSlice("ext", external(r, "true"))
			r.store("externalworkloads", "ext-0", machine("False"))
			r.putSlice("ext", external(r, "false"))
		}, ""},
		{"its readiness back", func(r *clusterRun) {
			r.store("externalworkloads", "ext-0", machine("True"))
			r.putSlice("ext", external(r, "true"))
			r.store("externalworkloads", "ext-0", machine("False"))
			r.putSlice("ext", external(r, "false"))
			r.putSlice("ext", external(r, "true"))
		}, "older than that of the write before"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newClusterRun(1)
			r.store("services", "mirror-0", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "mirror-0"}})
			tt.play(r)
			wantFinding(t, sliceOrder(), r.history(), tt.want)
		})
	}
}
