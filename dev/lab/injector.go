package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/dev/lab/schedule"
)

var _ schedule.Injector = (*stage)(nil)

// thief holds a stolen Lease. It is no replica.
const thief = "thief"

// keptRevisions are those that a compaction leaves.
const keptRevisions = 5

// Replica implements schedule.Injector.
func (s *stage) Replica(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	r := s.replicas[f.Target]
	switch f.Kind {
	case schedule.Pause:
		return func(context.Context) error { return r.signal(syscall.SIGCONT) }, r.signal(syscall.SIGSTOP)
	case schedule.Terminate:
		r.end(ctx, syscall.SIGTERM)
	case schedule.Kill:
		r.end(ctx, syscall.SIGKILL)
	}
	return func(context.Context) error { return r.start() }, nil
}

// Cluster implements schedule.Injector.
func (s *stage) Cluster(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	switch f.Kind {
	case schedule.EtcdFull:
		clear, err := s.control.fill(ctx)
		return clear, err
	case schedule.EtcdCompact:
		return s.compact(ctx, f)
	case schedule.EtcdCopy:
		return ends(), etcdctl.CopyData(s.control.dir, s.control.etcdCopy())
	case schedule.EtcdRestore:
		return s.restoreEtcd(ctx, f)
	case schedule.DropVersion:
		return s.dropVersion(ctx, f.Target)
	case schedule.EtcdKill:
		return s.takeAway(ctx, etcd)
	default:
		return s.takeAway(ctx, apiServer)
	}
}

func (s *stage) takeAway(ctx context.Context, component string) (schedule.End, error) {
	giveBack, err := s.control.takeAway(ctx, component)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error { return giveBack() }, nil
}

// compact makes etcd forget what only those need who have missed something. The witness must have seen it.
func (s *stage) compact(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	end := func(context.Context) error { return nil }
	if f.Relist {
		var err error
		if end, err = s.takeAway(ctx, apiServer); err != nil {
			return nil, err
		}
	}
	last, err := etcdctl.Revision(ctx, s.control.etcdURL)
	if err == nil {
		err = s.cluster.WaitFor(ctx, last)
	}
	if err == nil {
		err = etcdctl.Compact(ctx, s.control.etcdURL, last-keptRevisions)
	}
	if err != nil {
		return nil, errors.Join(err, end(ctx))
	}
	return end, nil
}

// restoreEtcd gives etcd the data of the copy. The witness must have seen all that is lost.
func (s *stage) restoreEtcd(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	// Nothing is written any more. It isn't killed yet: the next one may only ever see the restored data.
	if err := s.control.stop(apiServer); err != nil {
		return nil, err
	}
	last, err := etcdctl.Revision(ctx, s.control.etcdURL)
	if err == nil {
		err = s.cluster.WaitFor(ctx, last)
	}
	if err == nil {
		err = s.cluster.Restore(ctx, func(ctx context.Context) error {
			bumpAbove := int64(0)
			if f.Bump {
				bumpAbove = last
			}
			return s.control.replaceEtcd(ctx, bumpAbove)
		})
	}
	if err != nil {
		return nil, err
	}
	s.player.EtcdRestored()
	giveBack, err := s.control.takeAway(ctx, apiServer)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(giveBack(), s.serves(ctx))
	}, nil
}

// serves waits until the API server is ready.
func (s *stage) serves(ctx context.Context) error {
	return await(ctx, "the API server", startPatience, func() (bool, error) {
		err := s.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error()
		return err == nil, err
	})
}

// ends makes an End of what ends a fault of the network.
func ends(all ...func()) schedule.End {
	return func(context.Context) error {
		for _, end := range all {
			end()
		}
		return nil
	}
}

// Link implements schedule.Injector.
func (s *stage) Link(_ context.Context, f schedule.Fault) (schedule.End, error) {
	if proxy, ok := s.dns[f.Target]; ok {
		return ends(breakDNS(proxy, f)), nil
	}
	link, ok := s.links[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no link %s", f.Target)
	}
	all := []func(){breakLink(link, f)}
	if other, ok := s.xdsLinks[f.Target]; ok {
		all = append(all, breakLink(other, f))
	}
	return ends(all...), nil
}

func breakLink(link *network.Link, f schedule.Fault) (end func()) {
	switch f.Kind {
	case schedule.Delay:
		return link.Delay(f.Delay, f.Delay/2)
	case schedule.Slow:
		return link.Slow(f.Rate)
	case schedule.Cut:
		return link.Cut()
	default:
		return link.HalfOpen(network.Both)
	}
}

// breakDNS does to datagrams what comes nearest to a fault of connections.
func breakDNS(proxy *network.DNS, f schedule.Fault) (end func()) {
	switch f.Kind {
	case schedule.Delay:
		return proxy.Delay(f.Delay, f.Delay/2)
	case schedule.Slow:
		return proxy.Delay(time.Second, 0)
	case schedule.Cut:
		return proxy.CutTCP()
	default:
		return proxy.DropRequests(1, 0)
	}
}

// API implements schedule.Injector.
func (s *stage) API(_ context.Context, f schedule.Fault) (schedule.End, error) {
	path, ok := s.paths[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no link %s to the API server", f.Target)
	}
	if f.Kind == schedule.WithdrawRight {
		end, err := path.API.Fail(network.Failure{Share: 1, Resource: f.Resource, Status: http.StatusForbidden})
		path.API.CutWatches() // a watch that is open would go on
		return ends(end), err
	}
	end, err := path.API.Fail(network.Failure{Share: f.Share, Seed: uint64(f.ID), Status: max(0, f.Status), Reset: f.Status == schedule.Reset, Applied: f.Applied})
	return ends(end), err
}

// DNS implements schedule.Injector.
func (s *stage) DNS(_ context.Context, f schedule.Fault) (schedule.End, error) {
	var all []func()
	for name, proxy := range s.dns {
		if name != f.Target && f.Target != schedule.AllDNS {
			continue
		}
		lose := proxy.DropRequests
		if f.Applied {
			lose = proxy.DropAnswers
		}
		all = append(all, lose(f.Share, uint64(f.ID)))
		if f.Delay > 0 {
			all = append(all, proxy.Delay(f.Delay, f.Delay/2))
		}
	}
	if all == nil {
		return nil, fmt.Errorf("there is no link %s to the name server", f.Target)
	}
	return ends(all...), nil
}

// NameServer implements schedule.Injector.
func (s *stage) NameServer(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	if f.Kind == schedule.BINDRestart {
		return s.names.Restart, s.names.Kill()
	}
	return func(context.Context) error { return s.names.Resume() }, s.names.Pause(ctx)
}

// Lease implements schedule.Injector. Replicas take an empty Lease at once.
func (s *stage) Lease(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	return func(ctx context.Context) error { return s.hold(ctx, f.Target, "") }, s.hold(ctx, f.Target, thief)
}

// hold writes who holds a Lease, as often as the API server refuses.
func (s *stage) hold(ctx context.Context, lease, holder string) error {
	namespace, name, _ := strings.Cut(lease, "/")
	leases := s.client.CoordinationV1().Leases(namespace)
	ctx, cancel := context.WithTimeout(ctx, 50*time.Second)
	defer cancel()
	return await(ctx, "the Lease "+lease, time.Minute, func() (bool, error) {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			l, err := leases.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if holder == "" && (l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != thief) {
				return nil // a replica has it already
			}
			now := metav1.NowMicro()
			l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.AcquireTime = &holder, &now, &now
			_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
			return err
		})
		return err == nil, err
	})
}

// Certificates implements schedule.Injector.
func (s *stage) Certificates(_ context.Context, f schedule.Fault) (schedule.End, error) {
	path, ok := s.paths[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no certificate of %s", f.Target)
	}
	return ends(), path.API.RotateCertificate()
}

// Client implements schedule.Injector.
func (s *stage) Client(_ context.Context, f schedule.Fault) (schedule.End, error) {
	number, ok := s.clients[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no client %s", f.Target)
	}
	s.streams.Pause(number)
	return ends(func() { s.streams.Resume(number) }), nil
}
