package main

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/tally"
)

// nodeLost takes the power from a node with half of the pods. Two seconds later the node controller notices.
func nodeLost(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol)
	if err != nil {
		return result, err
	}
	if err := s.createNode(ctx, "lost"); err != nil {
		return result, err
	}
	here, err := st.begin(ctx, proxyNode, 2)
	if err != nil {
		return result, err
	}
	there := []pod{st.newPod("web-11", "lost", 11), st.newPod("web-12", "lost", 12)}
	for _, p := range there {
		if err := st.start(ctx, p, false); err != nil {
			return result, err
		}
	}
	if err := st.awaitServed(ctx, corev1.IPv4Protocol, append(here, there...)...); err != nil {
		return result, err
	}
	load := st.connections(corev1.IPv4Protocol, perSecond)
	marked, err := st.lose(ctx, "lost", there)
	if err == nil {
		err = clienttest.Pause(ctx, 4*time.Second)
	}
	outcomes := load.Stop().Since(marked)
	result.Count(outcomes)
	last, failed := outcomes.LastFailure()
	if !failed {
		last = marked
	}
	result.Took("from then to the last failure", last.Sub(marked))
	if err != nil {
		return result, err
	}
	return result, st.find(ctx, "lost", there, &result)
}

// lose lets a node fall silent, and returns when its pods were marked as not ready.
func (st *stage) lose(ctx context.Context, node string, pods []pod) (marked time.Time, err error) {
	if err := clienttest.Pause(ctx, time.Second); err != nil {
		return time.Now(), err
	}
	if err := st.host.Lose(addressesOf(pods)...); err != nil {
		return time.Now(), err
	}
	if err := clienttest.Pause(ctx, 2*time.Second); err != nil {
		return time.Now(), err
	}
	if err := st.setNode(ctx, node, corev1.ConditionUnknown); err != nil {
		return time.Now(), err
	}
	for _, p := range pods {
		if err := st.setReady(ctx, p, false); err != nil {
			return time.Now(), err
		}
	}
	return time.Now(), nil
}

// find lets a lost node come back, and measures how long its pods take to serve again.
func (st *stage) find(ctx context.Context, node string, pods []pod, result *tally.Result) error {
	if err := st.host.Lose(); err != nil {
		return err
	}
	if err := st.setNode(ctx, node, corev1.ConditionTrue); err != nil {
		return err
	}
	for _, p := range pods {
		if err := st.setReady(ctx, p, true); err != nil {
			return err
		}
	}
	ready := time.Now()
	err := st.awaitServed(ctx, corev1.IPv4Protocol, pods...)
	took(result, "node back: from ready to connections to all its pods", ready, err)
	return err
}

func addressesOf(pods []pod) (addresses []netip.Addr) {
	for _, p := range pods {
		addresses = append(addresses, p.addresses...)
	}
	return addresses
}

// nodeRecreated deletes the Node of running pods and creates it again, as when a kubelet registers anew. The
// pods are ready all the time.
func nodeRecreated(ctx context.Context, s *side, index int) (result tally.Result, err error) {
	st, err := s.createStage(ctx, index, corev1.IPv4Protocol)
	if err != nil {
		return result, err
	}
	if err := s.createNode(ctx, "recreated"); err != nil {
		return result, err
	}
	if _, err := st.begin(ctx, "recreated", 4); err != nil {
		return result, err
	}
	load := st.connections(corev1.IPv4Protocol, perSecond)
	deleted, err := s.recreateNode(ctx, "recreated")
	outcomes := load.Stop()
	result.Count(outcomes)
	last, failed := outcomes.LastFailure()
	if !failed {
		last = deleted
	}
	result.Took("from the deletion to the last failure", last.Sub(deleted))
	return result, err
}

// recreateNode returns when it deleted the node. It waits until what follows is over.
func (s *side) recreateNode(ctx context.Context, name string) (deleted time.Time, err error) {
	if err := clienttest.Pause(ctx, 2*time.Second); err != nil {
		return time.Now(), err
	}
	if err := s.deleteNode(ctx, name); err != nil {
		return time.Now(), err
	}
	deleted = time.Now()
	if err := clienttest.Pause(ctx, 3*time.Second); err != nil {
		return deleted, err
	}
	if err := s.createNode(ctx, name); err != nil {
		return deleted, err
	}
	return deleted, clienttest.Pause(ctx, 5*time.Second)
}
