package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/consumers/tally"
)

const (
	perSecond     = 200 // new connections a second
	lookupsPerSec = 50  // of each kind

	// drain is how long pods serve on after they were deleted, as with a preStop hook. kube-proxy writes its
	// rules once a second at most.
	drain = 2 * time.Second
)

// scene is something that happens in a cluster.
type scene struct {
	name   string
	title  string
	counts string
	chance int // see tally.Scene
	play   func(ctx context.Context, s *side, index int) (tally.Result, error)
}

// The order is that of the table. A killed leader's Lease was renewed at some time in the last 2 s, and the
// standby tries every 2 s. kube-proxy writes its rules once a second at most, so that it goes on sending half
// of the connections to a lost node for up to a second.
var scenes = []scene{
	{"rollout", "rollout of 8 pods", "failed connections", 0, rollout},
	{"lost", "node lost", "failed connections after its pods are marked not ready", perSecond / 2, nodeLost},
	{"recreated", "node deleted, and recreated 3 s later", "failed connections", 0, nodeRecreated},
	{"statefulset", "restart of a headless StatefulSet", "wrong responses of CoreDNS", 0, statefulSet},
	{"dualstack", "dual stack: rollout of 4 pods, then one family, then two again", "failed connections", 0, dualStack},
	{"leader", fmt.Sprintf("leader killed in a rollout, %d times", kills), "failed connections", kills * 2 * perSecond, leaderKilled},
}

// choose returns the scenes with these names.
func choose(names string) ([]scene, error) {
	if names == "" {
		return scenes, nil
	}
	var chosen []scene
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(scenes, func(s scene) bool { return s.name == name })
		if i < 0 {
			var known []string
			for _, s := range scenes {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("--scenes: no scene is called %q; name some of %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, scenes[i])
	}
	return chosen, nil
}

// playAll plays scenes one after the other, each to both sides at the same time.
func playAll(ctx context.Context, chosen []scene, signpost, kubernetes *side) []tally.Scene {
	var played []tally.Scene
	for i, sc := range chosen {
		begun := time.Now()
		result := tally.Scene{Title: sc.title, Counts: sc.counts, Chance: sc.chance}
		var failed [2]error
		play := func(s *side, result *tally.Result, failed *error) func() {
			return func() { *result, *failed = sc.play(ctx, s, i*10+1) }
		}
		both(play(signpost, &result.Signpost, &failed[0]), play(kubernetes, &result.Kubernetes, &failed[1]))
		for j, s := range []*side{signpost, kubernetes} {
			if err := failed[j]; err != nil {
				result.Errors = append(result.Errors, fmt.Errorf("in the cluster of %s: %w", s.name, err))
			}
		}
		fmt.Printf("%s: %s\n", sc.title, time.Since(begun).Round(time.Second))
		played = append(played, result)
		if len(result.Errors) > 0 && ctx.Err() != nil {
			break
		}
	}
	return played
}

// connections opens connections to the Service of a stage.
func (st *stage) connections(family corev1.IPFamily, perSecond int) *tally.Load {
	target := netip.AddrPortFrom(serviceAddress(family, st.index), podPort)
	return tally.Start(perSecond, func() (string, string) { return st.connect(target) })
}

// awaitServed waits until the Service has answered with each of the pods.
func (st *stage) awaitServed(ctx context.Context, family corev1.IPFamily, pods ...pod) error {
	missing := map[string]bool{}
	for _, p := range pods {
		for _, address := range p.addresses {
			if address.Is4() == (family == corev1.IPv4Protocol) {
				missing[address.String()] = true
			}
		}
	}
	load := st.connections(family, perSecond)
	defer load.Stop()
	return st.Await(ctx, "the Service answers with all its pods", func() bool {
		for _, o := range load.Outcomes() {
			delete(missing, o.By)
		}
		return len(missing) == 0
	})
}

// took adds to a row of the table how long something took, or that it never came.
func took(result *tally.Result, what string, begun time.Time, err error) {
	if err != nil {
		result.Never(what)
		return
	}
	result.Took(what, time.Since(begun))
}

// begin creates the Service and starts pods on a node, waits until all of them serve, and for a
// moment in which nothing happens.
func (st *stage) begin(ctx context.Context, node string, count int) ([]pod, error) {
	if err := st.createService(ctx, false); err != nil {
		return nil, err
	}
	var pods []pod
	for i := range count {
		p := st.newPod(fmt.Sprintf("web-%d", i), node, i+1)
		if err := st.start(ctx, p, false); err != nil {
			return nil, err
		}
		pods = append(pods, p)
	}
	for _, family := range st.families {
		if err := st.awaitServed(ctx, family, pods...); err != nil {
			return nil, err
		}
	}
	return pods, nil
}
