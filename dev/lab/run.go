package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/schedule"
	"github.com/signpostd/signpost/dev/lab/validate"
	"github.com/signpostd/signpost/dev/lab/witness"
	"github.com/signpostd/signpost/dev/lab/workload"
)

// mostShown is the number of printed findings of a run. All are in its directory.
const mostShown = 10

// leaseDuration is that of the replicas' config files.
const leaseDuration = 6 * time.Second

// result is the result of a run.
type result struct {
	seed     uint64
	dir      string
	entries  int
	calm     time.Duration // from the end of the faults until everything had converged
	findings []validate.Finding
}

// String returns one line for a run without findings, and more for one with findings.
func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d entries, %d findings", r.seed, r.entries, len(r.findings))
	if r.calm > 0 {
		fmt.Fprintf(&b, ", calm after %s", r.calm.Round(100*time.Millisecond))
	}
	b.WriteByte('\n')
	for _, f := range r.findings[:min(len(r.findings), mostShown)] {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	if len(r.findings) > 0 {
		fmt.Fprintf(&b, "  see %s; once more: make lab SEED=%d\n", r.dir, r.seed)
	}
	return b.String()
}

// run runs one seed. The error means that the lab itself has failed.
func run(ctx context.Context, o options, seed uint64) (r result, err error) {
	r = result{seed: seed, dir: filepath.Join(o.out, fmt.Sprintf("seed-%d", seed))}
	if err := os.RemoveAll(r.dir); err != nil {
		return r, err
	}
	setup := history.Setup{
		Seed: seed, Duration: o.duration, LeaseDuration: leaseDuration, Namespace: namespace, Zones: []string{zone + "."}, Owner: owner, TrustDomain: "cluster.local",
		UnsafeClock: o.profile == schedule.FastClock,
	}
	s, err := newFixture(o, setup, r.dir)
	if err != nil {
		return r, err
	}
	r.calm, err = s.play(ctx, seed)
	s.close()
	h := s.recorder.History()
	if err = errors.Join(err, s.recorder.Close()); err != nil {
		return r, err
	}
	r.entries, r.findings = len(h.Entries), append(s.exits, judge(h)...)
	if setup.UnsafeClock {
		r.findings = append(r.findings, s.unnoticedClock()...)
	}
	if err := writeFindings(r); err != nil {
		return r, err
	}
	if len(r.findings) == 0 {
		return r, errors.Join(os.RemoveAll(filepath.Join(r.dir, "cluster")), os.Remove(filepath.Join(r.dir, "history.jsonl")))
	}
	return r, nil
}

func writeFindings(r result) error {
	var b strings.Builder
	for _, f := range r.findings {
		fmt.Fprintln(&b, f)
	}
	return os.WriteFile(filepath.Join(r.dir, "findings.txt"), []byte(b.String()), 0o600)
}

// play starts all parts, injects the faults, and returns how long the calm took.
func (s *fixture) play(ctx context.Context, seed uint64) (calm time.Duration, err error) {
	plan, err := workload.New(workload.Settings{Seed: seed, Rate: s.options.rate, Namespace: namespace, Zone: zone + "."})
	if err != nil {
		return 0, err
	}
	if err := s.startServers(ctx, plan.ZoneRecords()); err != nil {
		return 0, err
	}
	s.player, err = workload.NewPlayer(workload.Config{
		Plan: plan, API: s.rest, NameServer: s.names.Addr, Recorder: s.recorder,
		Key: workload.Key{Name: personKey, Algorithm: keyAlgorithm, Secret: s.keys[personKey]},
	})
	if err != nil {
		return 0, err
	}
	s.cluster, err = witness.NewCluster(witness.ClusterConfig{Etcd: s.control.etcdURL, Namespaces: []string{namespace, meshNamespace, "kube-system"}}, s.recorder)
	if err != nil {
		return 0, err
	}
	s.zone = witness.NewZone(witness.ZoneConfig{Server: s.names.Addr.String(), Name: zone + ".", Key: &witness.Key{Name: signpostKey, Algorithm: keyAlgorithm, Secret: s.keys[signpostKey]}}, s.recorder)
	endWatch := s.watch(ctx, s.cluster.Run, s.zone.Run)
	defer func() { err = errors.Join(err, endWatch()) }()
	if err := s.player.Prepare(ctx); err != nil {
		return 0, err
	}
	if err := s.createUserSlices(ctx); err != nil {
		return 0, err
	}
	faults, err := s.startSignpost(ctx, seed)
	if err != nil {
		return 0, err
	}
	streaming, stopStreaming := context.WithCancel(ctx)
	var clients sync.WaitGroup
	clients.Go(func() { s.streams.Run(streaming) })
	defer clients.Wait()
	defer stopStreaming()
	if err := s.runFaults(ctx, faults); err != nil {
		return 0, err
	}
	return s.waitForCalm(ctx)
}

// startSignpost starts the replicas, prepares their clients, and returns the faults.
func (s *fixture) startSignpost(ctx context.Context, seed uint64) (schedule.Schedule, error) {
	clients := clientsOf()
	s.clients = numbersOf(clients)
	if err := s.connectReplicas(); err != nil {
		return schedule.Schedule{}, err
	}
	faults, err := schedule.Make(schedule.Options{Seed: seed, Duration: s.options.duration, Profile: s.options.profile, Lab: s.lab()})
	if err != nil {
		return schedule.Schedule{}, err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "schedule.txt"), []byte(faults.String()), 0o600); err != nil {
		return schedule.Schedule{}, err
	}
	if err := s.startReplicas(ctx, faults.Clock); err != nil {
		return schedule.Schedule{}, err
	}
	s.streams, err = witness.NewStreams(s.connect(clients), s.recorder)
	return faults, err
}

// watch runs witnesses. end stops them, and returns an error if they may have missed something.
func (s *fixture) watch(ctx context.Context, witnesses ...func(context.Context) error) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	errs := make([]error, len(witnesses))
	var wg sync.WaitGroup
	for i, w := range witnesses {
		wg.Go(func() {
			if err := w(ctx); ctx.Err() == nil {
				errs[i] = err
			}
		})
	}
	return func() error {
		cancel()
		wg.Wait()
		return errors.Join(errs...)
	}
}

// runFaults edits objects and injects faults for the duration of the run.
func (s *fixture) runFaults(ctx context.Context, faults schedule.Schedule) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, errs[0] = s.player.Play(ctx, s.options.duration); errs[0] != nil {
			cancel(errs[0])
		}
	})
	wg.Go(func() {
		if errs[1] = schedule.Run(ctx, faults.Faults, s.inject, s.recorder); errs[1] != nil {
			cancel(errs[1])
		}
	})
	wg.Wait()
	if err := errors.Join(append(errs, s.control.Ended())...); err != nil {
		return err
	}
	return errors.Join(s.setClocks(ctx), s.collectGarbage(ctx), s.burst(ctx))
}

// burst changes slices of another writer several times within some milliseconds, so that the last changes of
// the run arrive together with the ones before.
func (s *fixture) burst(ctx context.Context) error {
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("own-%d-person", i))
	}
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { errs[i] = s.flap(ctx, name, fmt.Sprintf("10.127.255.%d", i+1)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// flap adds an address to a slice and removes it, five times. A missing slice is ignored.
func (s *fixture) flap(ctx context.Context, name, address string) error {
	client := s.client.DiscoveryV1().EndpointSlices(namespace)
	slice, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || slice.AddressType != discoveryv1.AddressTypeIPv4 {
		return err
	}
	without := slice.Endpoints
	with := append(without[:len(without):len(without)], discoveryv1.Endpoint{Addresses: []string{address}})
	for i := range 10 {
		if slice.Endpoints = with; i%2 == 1 {
			slice.Endpoints = without
		}
		if slice, err = client.Update(ctx, slice, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update slice %s: %w", name, err)
		}
	}
	return nil
}

// collectGarbage deletes the slices of deleted Services in place of Kubernetes' garbage collector, which
// isn't part of the lab. The slice library of Kubernetes leaves an empty slice to the next Service of the
// same name until it is collected.
func (s *fixture) collectGarbage(ctx context.Context) error {
	return await(ctx, "the collection of garbage", startTimeout, func() (bool, error) {
		err := s.collectGarbageOnce(ctx)
		return err == nil, err
	})
}

func (s *fixture) collectGarbageOnce(ctx context.Context) error {
	services, err := s.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the Services: %w", err)
	}
	all, err := s.client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the slices: %w", err)
	}
	alive := map[types.UID]bool{}
	for _, service := range services.Items {
		alive[service.UID] = true
	}
	for _, slice := range all.Items {
		owner := metav1.GetControllerOf(&slice)
		if owner == nil || owner.Kind != "Service" || alive[owner.UID] {
			continue
		}
		err := s.client.DiscoveryV1().EndpointSlices(namespace).Delete(ctx, slice.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete slice %s: %w", slice.Name, err)
		}
	}
	return nil
}

// setClocks restarts a replica that had a wrong clock with a right one. The name server refuses signatures
// with a clock that is five minutes wrong (RFC 8945, section 10), so nothing would converge otherwise.
func (s *fixture) setClocks(ctx context.Context) error {
	for _, r := range s.replicas {
		if r.env == nil {
			continue
		}
		r.end(ctx, syscall.SIGTERM)
		r.env = nil
		if err := r.start(); err != nil {
			return err
		}
	}
	return nil
}

// waitForCalm waits until everything has converged, at most for the time of --calm.
func (s *fixture) waitForCalm(ctx context.Context) (time.Duration, error) {
	s.recorder.Record(history.Entry{Calm: &history.Calm{Started: true}})
	started := s.recorder.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for s.recorder.Now()-started < s.options.calm {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
		if s.converged() {
			break
		}
	}
	length := s.recorder.Now() - started
	s.recorder.Record(history.Entry{Calm: &history.Calm{}})
	return length, s.control.Ended()
}

// converged runs the validators of convergence on the history so far.
func (s *fixture) converged() bool {
	h := s.recorder.History()
	h.Entries = append(slices.Clone(h.Entries), history.Entry{At: s.recorder.Now(), Calm: &history.Calm{}})
	return validate.Settled(h)
}

func sortedKeys[V any](m map[string]V) []string { return slices.SortedFunc(maps.Keys(m), cmp.Compare) }
