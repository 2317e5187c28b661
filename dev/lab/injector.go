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

// thief is the holder of a stolen Lease. No replica has this name.
const thief = "thief"

// keptRevisions is the number of revisions that a compaction keeps.
const keptRevisions = 5

// inject begins a fault. It is a [schedule.Injector].
func (s *fixture) inject(ctx context.Context, f schedule.Fault) (schedule.End, error) {
	switch f.Kind {
	case schedule.Kill:
		return s.stopReplica(ctx, f.Target, syscall.SIGKILL), nil
	case schedule.Terminate:
		return s.stopReplica(ctx, f.Target, syscall.SIGTERM), nil
	case schedule.Pause:
		r := s.replicas[f.Target]
		return func(context.Context) error { return r.signal(syscall.SIGCONT) }, r.signal(syscall.SIGSTOP)
	case schedule.APIServerKill:
		return s.takeDown(ctx, apiServer)
	case schedule.EtcdKill:
		return s.takeDown(ctx, etcd)
	case schedule.EtcdCompact:
		return s.compact(ctx, f)
	case schedule.EtcdCopy:
		return ends(), etcdctl.CopyData(s.control.dir, s.control.etcdCopy())
	case schedule.EtcdRestore:
		return s.restoreEtcd(ctx, f)
	case schedule.EtcdFull:
		clear, err := s.control.fill(ctx)
		return clear, err
	case schedule.DropVersion:
		return s.dropVersion(ctx, f.Target)
	case schedule.Delay, schedule.Slow, schedule.Cut, schedule.HalfOpen:
		return s.breakPath(f)
	case schedule.APIErrors, schedule.WithdrawRight:
		return s.failRequests(f)
	case schedule.DNSDrop, schedule.ProviderStorm:
		return s.dropMessages(f)
	case schedule.BINDPause:
		return func(context.Context) error { return s.names.Resume() }, s.names.Pause(ctx)
	case schedule.BINDRestart:
		return s.names.Restart, s.names.Kill()
	case schedule.StealLease:
		// A replica takes an empty Lease at once.
		return func(ctx context.Context) error { return s.writeHolder(ctx, f.Target, "") }, s.writeHolder(ctx, f.Target, thief)
	case schedule.RotateCertificates:
		return ends(), s.paths[f.Target].API.RotateCertificate()
	case schedule.SlowClient:
		number := s.clients[f.Target]
		s.streams.Pause(number)
		return ends(func() { s.streams.Resume(number) }), nil
	}
	return nil, fmt.Errorf("nobody knows the kind %q", f.Kind)
}

// stopReplica ends a replica with a signal.
func (s *fixture) stopReplica(ctx context.Context, name string, with syscall.Signal) schedule.End {
	r := s.replicas[name]
	r.end(ctx, with)
	return func(context.Context) error { return r.start() }
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

// breakPath breaks a link, or the nearest equivalent of one.
func (s *fixture) breakPath(f schedule.Fault) (schedule.End, error) {
	if proxy, ok := s.dns[f.Target]; ok {
		return ends(breakDNS(proxy, f)), nil
	}
	all := []func(){breakLink(s.links[f.Target], f)}
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

// breakDNS applies to messages the nearest equivalent of a fault of connections.
func breakDNS(proxy *network.DNS, f schedule.Fault) (end func()) {
	switch f.Kind {
	case schedule.Delay:
		return proxy.Delay(f.Delay, f.Delay/2)
	case schedule.Slow:
		return proxy.Delay(time.Second, 0)
	case schedule.Cut:
		return proxy.Cut()
	default:
		return proxy.DropRequests(1, 0)
	}
}

// failRequests makes requests of a replica to the API server fail.
func (s *fixture) failRequests(f schedule.Fault) (schedule.End, error) {
	api := s.paths[f.Target].API
	if f.Kind == schedule.WithdrawRight {
		end := api.Fail(network.Failure{Share: 1, Resource: f.Resource, Status: http.StatusForbidden})
		api.CutWatches() // or open watches would continue
		return ends(end), nil
	}
	return ends(api.Fail(network.Failure{Share: f.Share, Seed: uint64(f.ID), Status: max(0, f.Status), Reset: f.Status == schedule.Reset, Applied: f.Applied})), nil
}

// dropMessages drops and delays messages between a replica, or all replicas, and the name server.
func (s *fixture) dropMessages(f schedule.Fault) (schedule.End, error) {
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
	return ends(all...), nil
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
