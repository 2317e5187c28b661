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

var _ schedule.Injector = (*fixture)(nil)

// thief is the holder of a stolen Lease. No replica has this name.
const thief = "thief"

// keptRevisions is the number of revisions that a compaction keeps.
const keptRevisions = 5

// Replica implements [schedule.Injector].
func (s *fixture) Replica(ctx context.Context, f schedule.Fault) (schedule.End, error) {
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

// Cluster implements [schedule.Injector].
func (s *fixture) Cluster(ctx context.Context, f schedule.Fault) (schedule.End, error) {
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
		return s.takeDown(ctx, etcd)
	default:
		return s.takeDown(ctx, apiServer)
	}
}

func (s *fixture) takeDown(ctx context.Context, component string) (schedule.End, error) {
	bringUp, err := s.control.takeDown(ctx, component)
	if err != nil {
		return nil, err
	}
	return func(context.Context) error { return bringUp() }, nil
}

// compact compacts etcd, so that watches that were interrupted must list again. It first waits for the
// witness.
func (s *fixture) compact(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	end := func(context.Context) error { return nil }
	if f.Relist {
		var err error
		if end, err = s.takeDown(ctx, apiServer); err != nil {
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

// restoreEtcd replaces etcd's data by the copy, after the witness has seen all that will be lost.
func (s *fixture) restoreEtcd(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// The API server is suspended so that nothing is written. It isn't killed yet, because its replacement
	// must see only the restored data.
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
	bringUp, err := s.control.takeDown(ctx, apiServer)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(bringUp(), s.waitReady(ctx))
	}, nil
}

// waitReady waits until the API server is ready.
func (s *fixture) waitReady(ctx context.Context) error {
	return await(ctx, "the API server", startTimeout, func() (bool, error) {
		err := s.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error()
		return err == nil, err
	})
}

// ends returns an End for the functions that end a fault of the network.
func ends(all ...func()) schedule.End {
	return func(context.Context) error {
		for _, end := range all {
			end()
		}
		return nil
	}
}

// Link implements [schedule.Injector].
func (s *fixture) Link(_ context.Context, f schedule.Fault) (schedule.End, error) {
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

// breakDNS applies to datagrams the nearest equivalent of a fault of connections.
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

// API implements [schedule.Injector].
func (s *fixture) API(_ context.Context, f schedule.Fault) (schedule.End, error) {
	path, ok := s.paths[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no link %s to the API server", f.Target)
	}
	if f.Kind == schedule.WithdrawRight {
		end, err := path.API.Fail(network.Failure{Share: 1, Resource: f.Resource, Status: http.StatusForbidden})
		path.API.CutWatches() // or open watches would continue
		return ends(end), err
	}
	end, err := path.API.Fail(network.Failure{Share: f.Share, Seed: uint64(f.ID), Status: max(0, f.Status), Reset: f.Status == schedule.Reset, Applied: f.Applied})
	return ends(end), err
}

// DNS implements [schedule.Injector].
func (s *fixture) DNS(_ context.Context, f schedule.Fault) (schedule.End, error) {
	var all []func()
	for name, proxy := range s.dns {
		if name != f.Target && f.Target != schedule.AllDNS {
			continue
		}
		lose := proxy.DropRequests
		if f.Applied {
			lose = proxy.DropResponses
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

// NameServer implements [schedule.Injector].
func (s *fixture) NameServer(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	if f.Kind == schedule.BINDRestart {
		return s.names.Restart, s.names.Kill()
	}
	return func(context.Context) error { return s.names.Resume() }, s.names.Pause(ctx)
}

// Lease implements [schedule.Injector]. A replica takes an empty Lease at once.
func (s *fixture) Lease(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	return func(ctx context.Context) error { return s.writeHolder(ctx, f.Target, "") }, s.writeHolder(ctx, f.Target, thief)
}

// writeHolder writes the holder of a Lease, and retries until the API server accepts.
func (s *fixture) writeHolder(ctx context.Context, lease, holder string) error {
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
				return nil // a replica holds it already
			}
			now := metav1.NowMicro()
			l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.AcquireTime = &holder, &now, &now
			_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
			return err
		})
		return err == nil, err
	})
}

// Certificates implements [schedule.Injector].
func (s *fixture) Certificates(_ context.Context, f schedule.Fault) (schedule.End, error) {
	path, ok := s.paths[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no certificate of %s", f.Target)
	}
	return ends(), path.API.RotateCertificate()
}

// Client implements [schedule.Injector].
func (s *fixture) Client(_ context.Context, f schedule.Fault) (schedule.End, error) {
	number, ok := s.clients[f.Target]
	if !ok {
		return nil, fmt.Errorf("there is no client %s", f.Target)
	}
	s.streams.Pause(number)
	return ends(func() { s.streams.Resume(number) }), nil
}
