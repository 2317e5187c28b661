package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// policies returns the scenes about what annotations and ServiceProfiles ask gRPC clients for. Static
// clusters of Envoy have no part in them; the Clusters that it gets on demand do.
func policies() []scene {
	return []scene{
		{"zones", nil, zones},
		{"ring-hash", nil, ringHash},
		{"least-request", nil, leastRequest},
		{"balancers", slices.Sorted(maps.Keys(balancers())), otherBalancers},
		{"outliers", nil, outliers},
		{"timeout", nil, timeout},
		{"retry", nil, retry},
		{"split", []string{"split", "split-v2"}, split},
	}
}

// ofGRPC lets all gRPC clients do something, after a first call that succeeds.
func (st *stage) ofGRPC(ctx context.Context, s *shop, do func(*client) (result, error)) {
	st.withFirstCall(ctx, s, st.named(clientGo, clientPython, clientJava, clientNode), do)
}

// ofSignpost returns the clients whose Clusters come from Signpost: the gRPC clients, and Envoy that asks for
// Clusters.
func (st *stage) ofSignpost() []*client {
	return st.named(clientGo, clientPython, clientJava, clientNode, clientEnvoyCDS)
}

// withFirstCall lets some clients do something, after a first call that succeeds.
func (st *stage) withFirstCall(ctx context.Context, s *shop, clients []*client, do func(*client) (result, error)) {
	st.with(clients, func(c *client) (result, error) {
		if err := succeeds(ctx, c, s); err != nil {
			return result{}, err
		}
		return do(c)
	})
}

// zones has 3, 2 and 1 pods in three zones: calls are spread in this proportion (case 19).
func zones(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, "a", "a", "a", "b", "b", "c"); err != nil {
		return err
	}
	st.ofGRPC(ctx, s, func(c *client) (result, error) {
		const calls, percent = 600, 10
		if err := reaches(ctx, c, s); err != nil {
			return result{}, err
		}
		r, err := c.call(ctx, s.host(), calls)
		by := map[string]int{}
		for _, pod := range s.pods {
			by[pod.zone] += r.By[pod.name]
		}
		out := result{cell: fmt.Sprintf("%d:%d:%d", by["a"], by["b"], by["c"]), details: errorsOf(r)}
		for zone, share := range map[string]int{"a": calls / 2, "b": calls / 3, "c": calls / 6} {
			if n := by[zone]; n < share-calls*percent/100 || n > share+calls*percent/100 {
				out.problem = "calls by zone: " + out.cell
			}
		}
		return out, err
	})
	return nil
}

// reaches calls until each pod has answered.
func reaches(ctx context.Context, c *client, s *shop) error {
	seen := map[string]bool{}
	return clienttest.Await(ctx, deadline, "calls of "+c.name+" reach all pods", func() bool {
		r, err := c.call(ctx, s.host(), len(s.pods))
		for pod := range r.By {
			seen[pod] = true
		}
		return err == nil && len(seen) == len(s.pods)
	})
}

// ringHash sends calls with one header to one pod, if the client knows ring hash as Go and Java do.
// The others must not fail (case 32). Clients in one language agree about the pod. That of Java
// differs from that of the others.
func ringHash(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.openWith(ctx, map[string]string{"signpost.dev/lb-policy": "ring-hash; header=x-user"}, "", "", "", ""); err != nil {
		return err
	}
	st.ofGRPC(ctx, s, func(c *client) (result, error) {
		r, err := c.ask(ctx, s.host(), caller.Request{Do: caller.Call, Count: 100, Headers: map[string]string{"x-user": "anna"}})
		pods := strings.Join(slices.Sorted(maps.Keys(r.By)), " ")
		out := result{cell: fmt.Sprintf("%d of %d fail; %d pods", r.Failed, r.Calls, len(r.By)), details: errorsOf(r)}
		if len(r.By) == 1 {
			out.cell = "all to " + pods
		}
		knows := c.name == clientGo || c.name == clientJava
		if r.Failed > 0 || knows && len(r.By) != 1 {
			out.problem = out.cell
		}
		return out, err
	})
	return nil
}

// leastRequest asks for a policy that Python and Node may not know: no client may reject it, and no
// call may fail (case 33). Envoy gets it in a Cluster of Signpost.
func leastRequest(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.openWith(ctx, map[string]string{"signpost.dev/lb-policy": "least-request"}, "", "", ""); err != nil {
		return err
	}
	st.withFirstCall(ctx, s, st.ofSignpost(), func(c *client) (result, error) {
		r, err := c.call(ctx, s.host(), 60)
		out := result{cell: failures(r), details: errorsOf(r)}
		if r.Failed > 0 || len(r.By) != len(s.pods) {
			out.problem = fmt.Sprintf("%s; %d of %d pods", out.cell, len(r.By), len(s.pods))
		}
		return out, err
	})
	return nil
}

// balancers are load balancing policies that no other scene has, by the names of Services.
func balancers() map[string]string {
	return map[string]string{
		"weighted": "weighted-round-robin", "subset": "subset; size=2", "first": "pick-first", "stable": "ring-hash; stable",
	}
}

// otherBalancers has a Service for each policy. Clients may not know it, but none may reject it, and no call
// may fail (cases 32 and 33).
func otherBalancers(ctx context.Context, st *stage) error {
	for _, s := range st.shops {
		if err := s.openWith(ctx, map[string]string{"signpost.dev/lb-policy": balancers()[s.name]}, "", "", ""); err != nil {
			return err
		}
	}
	st.with(st.ofSignpost(), func(c *client) (out result, err error) {
		for _, s := range st.shops {
			if err := succeeds(ctx, c, s); err != nil {
				return out, err
			}
			r, err := c.call(ctx, s.host(), 30)
			if err != nil {
				return out, err
			}
			out.cell += fmt.Sprintf("%s: %d of %d; ", s.name, r.Failed, r.Calls)
			out.details = append(out.details, errorsOf(r)...)
			if r.Failed > 0 {
				out.problem = out.cell
			}
		}
		out.cell = strings.TrimSuffix(out.cell, "; ")
		return out, nil
	})
	return nil
}

// outliers has a pod whose calls all fail, which clients eject (case 34): gRPC clients, and Envoy with a
// Cluster of Signpost. Envoy's detection of consecutive errors, which gRPC clients don't have, is off.
func outliers(ctx context.Context, st *stage) error {
	s := st.shops[0]
	const policy = "failure-percentage=50; interval=1s; min-hosts=1; min-requests=5"
	if err := s.openWith(ctx, map[string]string{"signpost.dev/outlier-detection": policy}, "", "", ""); err != nil {
		return err
	}
	bad, judges := s.pods[0], st.ofSignpost()
	st.withFirstCall(ctx, s, judges, func(c *client) (result, error) {
		return result{}, reaches(ctx, c, s)
	})
	bad.broken.Store(true)
	st.withFirstCall(ctx, s, judges, func(c *client) (result, error) {
		var r caller.Reply
		err := clienttest.Await(ctx, deadline, c.name+" ejects the pod whose calls fail", func() bool {
			var err error
			r, err = c.call(ctx, s.host(), 30)
			return err == nil && r.Failed == 0
		})
		return result{cell: fmt.Sprintf("%d of %d after the ejection", r.Failed, r.Calls)}, err
	})
	for _, c := range st.named(clientEnvoyCDS) {
		if c.skipped != "" {
			continue
		}
		if err := onlyFailurePercentage(ctx, s.host()+":80"); err != nil {
			return err
		}
	}
	return nil
}

// profiles are the ServiceProfiles.
var profiles = schema.GroupVersionResource{Group: "linkerd.io", Version: "v1alpha2", Resource: "serviceprofiles"}

// profile creates a ServiceProfile of a Service.
func (s *shop) profile(ctx context.Context, spec map[string]any) error {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "linkerd.io/v1alpha2", "kind": "ServiceProfile",
		"metadata": map[string]any{"name": s.host() + ".svc.cluster.local", "namespace": namespace}, "spec": spec,
	}}
	if _, err := s.dynamic.Resource(profiles).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the ServiceProfile of %s: %w", s.name, err)
	}
	return nil
}

// route is a route of a ServiceProfile for a method of the backends.
func route(method string, field string, value any) map[string]any {
	return map[string]any{
		"name": method, field: value,
		"condition": map[string]any{"pathRegex": strings.ReplaceAll("/"+caller.Service+"/"+method, ".", `\.`)},
	}
}

// timeoutWithin is when a call with a timeout of 100 ms must have failed, on a busy machine.
const timeoutWithin = time.Second

// timeout has a route with a timeout of 100 ms for a method that takes longer (case 36). C-core
// counts timeouts by the processor's cycle counter, which is a second off on some virtual machines:
// then a call of Python fails earlier, also on a channel without xDS.
func timeout(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	if err := s.profile(ctx, map[string]any{"routes": []any{route(caller.Slow, "timeout", "100ms")}}); err != nil {
		return err
	}
	const calls = 10
	st.ofGRPC(ctx, s, func(c *client) (out result, err error) {
		var r caller.Reply
		err = clienttest.Await(ctx, deadline, "the timeout of "+c.name+" is in force", func() bool {
			r, err = c.ask(ctx, s.host(), caller.Request{Do: caller.Call, Count: calls, Method: caller.Slow})
			return err == nil && r.Failed == calls
		})
		out = result{cell: fmt.Sprintf("fails after %.0f to %.0f ms", r.ShortestMS, r.LongestMS)}
		if r.LongestMS > float64(timeoutWithin.Milliseconds()) {
			out.problem = out.cell
		}
		for text := range r.Errors {
			// The server ends such a call, too, and the client may hear of that first.
			if !strings.HasPrefix(text, "DEADLINE_EXCEEDED: ") && !strings.HasPrefix(text, "CANCELLED: ") {
				out.problem = text
			}
		}
		if err == nil {
			err = succeeds(ctx, c, s) // the other methods have no timeout
		}
		return out, err
	})
	return s.untimed(ctx, st)
}

// untimed deletes the ServiceProfile: calls on open channels have no timeout any longer.
func (s *shop) untimed(ctx context.Context, st *stage) error {
	if err := s.dynamic.Resource(profiles).Namespace(namespace).Delete(ctx, s.host()+".svc.cluster.local", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete the ServiceProfile of %s: %w", s.name, err)
	}
	for _, err := range each(st.named(clientGo, clientPython, clientJava, clientNode), func(c *client) error {
		return clienttest.Await(ctx, deadline, "the timeout of "+c.name+" is gone", func() bool {
			r, err := c.ask(ctx, s.host(), caller.Request{Do: caller.Call, Count: 1, Method: caller.Slow})
			return err == nil && r.Failed == 0
		})
	}) {
		return err
	}
	return nil
}

// retry has a route that is retryable for a method that fails the first time (case 37).
func retry(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	if err := s.profile(ctx, map[string]any{"routes": []any{route(caller.Flaky, "isRetryable", true)}}); err != nil {
		return err
	}
	st.ofGRPC(ctx, s, func(c *client) (out result, err error) {
		var r caller.Reply
		err = clienttest.Await(ctx, deadline, "the retries of "+c.name+" are in force", func() bool {
			r, err = c.ask(ctx, s.host(), caller.Request{Do: caller.Call, Count: 20, Method: caller.Flaky})
			return err == nil && r.Failed == 0
		})
		return result{cell: failures(r), details: errorsOf(r)}, err
	})
	return nil
}

// The split of the scene split: of 1,000 calls, 100 go to the other Service, and up to 40 more or fewer by
// chance.
const (
	splitCalls     = 1000
	splitShare     = 100
	splitDeviation = 40
)

// split sends a tenth of the calls to another Service (case 38). When that has no pods, only its share of the
// calls fails. With weights whose sum is 0, all calls go to the Service itself.
func split(ctx context.Context, st *stage) error {
	main, other := st.shops[0], st.shops[1]
	for _, s := range st.shops {
		if err := s.open(ctx, ""); err != nil {
			return err
		}
	}
	if err := main.profile(ctx, map[string]any{"dstOverrides": weights(main, "900m", other, "100m")}); err != nil {
		return err
	}
	cells := map[string]string{} // of the parts before, by client
	part := func(share func(caller.Reply) int, what string) {
		st.ofGRPC(ctx, main, func(c *client) (result, error) {
			r, err := st.share(ctx, c, what, share)
			n := share(r)
			st.mu.Lock()
			defer st.mu.Unlock()
			if cells[c.name] != "" {
				cells[c.name] += "; "
			}
			cells[c.name] += fmt.Sprintf("%d of %d %s", n, r.Calls, what)
			out := result{cell: cells[c.name]}
			if n < splitShare-splitDeviation || n > splitShare+splitDeviation || n+r.By[main.pods[0].name] != r.Calls {
				out.problem = fmt.Sprintf("%s: %v %v", out.cell, r.By, r.Errors)
			}
			return out, err
		})
	}
	part(other.callsIn, "to the other")

	ended := other.pods
	other.pods = nil
	if err := errors.Join(other.write(ctx), stopAll(ctx, ended)); err != nil {
		return err
	}
	part(func(r caller.Reply) int { return r.Failed }, "fail without its pods")

	if err := main.reprofile(ctx, weights(main, "0", other, "0")); err != nil {
		return err
	}
	st.ofGRPC(ctx, main, func(c *client) (result, error) {
		var r caller.Reply
		err := clienttest.Await(ctx, deadline, "all calls of "+c.name+" go to the Service", func() bool {
			var err error
			r, err = c.call(ctx, main.host(), splitShare)
			return err == nil && main.callsIn(r) == splitShare
		})
		return result{cell: fmt.Sprintf("%s; %d of %d to the Service with weights of 0", cells[c.name], main.callsIn(r), r.Calls)}, err
	})
	return nil
}

// share makes calls, after one of them has been in the share that is counted.
func (st *stage) share(ctx context.Context, c *client, what string, share func(caller.Reply) int) (r caller.Reply, err error) {
	host := st.shops[0].host()
	err = clienttest.Await(ctx, deadline, "calls of "+c.name+" "+what, func() bool {
		r, err = c.call(ctx, host, 20)
		return err == nil && share(r) > 0
	})
	if err != nil {
		return r, err
	}
	return c.call(ctx, host, splitCalls)
}

// weights are dstOverrides for two Services.
func weights(a *shop, ofA string, b *shop, ofB string) []any {
	authority := func(s *shop) string { return fmt.Sprintf("%s.svc.cluster.local:%d", s.host(), grpcPort) }
	return []any{
		map[string]any{"authority": authority(a), "weight": ofA},
		map[string]any{"authority": authority(b), "weight": ofB},
	}
}

// callsIn returns how many calls the pods of the Service answered.
func (s *shop) callsIn(r caller.Reply) (n int) {
	for pod, count := range r.By {
		if s.isOf(pod) {
			n += count
		}
	}
	return n
}
