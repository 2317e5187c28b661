package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/tally"
)

// staleAfter is how long after the end of a pod a response may have its address.
const staleAfter = time.Second

// members are the pods of a StatefulSet, for those who judge responses. It may be used from any goroutine.
type members struct {
	mu    sync.Mutex
	ended map[netip.Addr]time.Time
}

func (m *members) end(p pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, address := range p.addresses {
		m.ended[address] = time.Now()
	}
}

// judge returns what is wrong with a response to the name of the Service: it must have an address of at least
// two pods, because one is replaced at a time, and none of a pod that has ended.
func (m *members) judge(addresses []netip.Addr, failure string) string {
	if failure != "" {
		return failure
	}
	if len(addresses) < 2 {
		return "address missing"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, address := range addresses {
		if at, ended := m.ended[address]; ended && time.Since(at) > staleAfter {
			return "address of a pod that has ended"
		}
	}
	return ""
}

// statefulSet replaces the pods of a headless Service one after the other under their names, as a StatefulSet
// with minReadySeconds 1 does.
func statefulSet(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol, corev1.IPv6Protocol)
	if err != nil {
		return result, err
	}
	if err := st.createService(ctx, true); err != nil {
		return result, err
	}
	var pods []pod
	for i := range 3 {
		p := st.newPod(fmt.Sprintf("web-%d", i), proxyNode, i+1)
		if err := st.start(ctx, p, true); err != nil {
			return result, err
		}
		pods = append(pods, p)
	}
	if err := st.awaitNames(ctx, pods); err != nil {
		return result, err
	}
	m := &members{ended: map[netip.Addr]time.Time{}}
	loads := []*tally.Load{st.lookups(m, dns.TypeA), st.lookups(m, dns.TypeAAAA)}
	for i, p := range slices.Backward(pods) {
		if err == nil {
			err = st.restart(ctx, m, p, st.newPod(p.name, proxyNode, i+11), &result)
		}
	}
	for _, load := range loads {
		result.Count(load.Stop())
	}
	return result, err
}

// lookups asks for the name of the Service.
func (st *stage) lookups(m *members, kind uint16) *tally.Load {
	return tally.Start(lookupsPerSec, func() (string, string) {
		addresses, failure := st.lookup("web."+st.namespace, kind)
		return "", m.judge(addresses, failure)
	})
}

// restart replaces a pod by one of the same name and other addresses.
func (st *stage) restart(ctx context.Context, m *members, old, fresh pod, result *tally.Result) error {
	if err := st.terminate(ctx, old); err != nil {
		return err
	}
	deleted := time.Now()
	err := st.awaitName(ctx, old, false)
	took(result, "from the deletion of a pod to NXDOMAIN for its name", deleted, err)
	if err != nil {
		return err
	}
	if err := clienttest.Pause(ctx, drain); err != nil {
		return err
	}
	if err := st.end(ctx, old); err != nil {
		return err
	}
	m.end(old)
	if err := st.start(ctx, fresh, true); err != nil {
		return err
	}
	ready := time.Now()
	err = st.awaitName(ctx, fresh, true)
	took(result, "from ready to the new address under the name of the pod", ready, err)
	if err != nil {
		return err
	}
	return clienttest.Pause(ctx, time.Second)
}

// awaitName waits until the name of a pod has its addresses and no others, or doesn't exist.
func (st *stage) awaitName(ctx context.Context, p pod, exists bool) error {
	what := fmt.Sprintf("CoreDNS says that the name of pod %s exists: %t", p.name, exists)
	return clienttest.Await(ctx, 20*time.Second, what, func() bool {
		for i, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
			addresses, failure := st.lookup(p.name+".web."+st.namespace, kind)
			if exists && (failure != "" || !slices.Equal(addresses, p.addresses[i:i+1])) {
				return false
			}
			if !exists && failure != dns.RcodeToString[dns.RcodeNameError] {
				return false
			}
		}
		return true
	})
}

func (st *stage) awaitNames(ctx context.Context, pods []pod) error {
	for _, p := range pods {
		if err := st.awaitName(ctx, p, true); err != nil {
			return err
		}
	}
	return nil
}
