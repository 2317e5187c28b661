package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The halves of scale begin in scale_memory.go, scale_start.go, scale_streams.go, scale_herd.go, scale_reconnect.go,
// scale_churn.go and scale_slope.go. The simulated cluster is in scale_objects.go and scale_pod.go
// (what is in it), scale_state.go (what changes), scale_encode.go, scale_server.go and
// scale_identity.go (how it is served). Its proxies are in scale_mesh.go.

// The cluster that scale measures. It is simulated, because an etcd on this machine would take
// longer to fill than everything else takes.
const (
	scaledServices       = 10_000
	scaledPodsPerService = 10
)

// measureScale measures Signpost in a large cluster, which `bench apiserver` simulates.
func measureScale(ctx context.Context, r *report, c choice) error {
	for _, half := range []struct {
		name string
		run  func(context.Context, *report, choice) error
	}{
		{"memory", measureScaledMemory},
		{"start", measureScaledStart},
		{"streams", measureScaledStreams},
		{"herd", measureScaledHerd},
		{"reconnect", measureReconnect},
		{"churn", measureScaledChurn},
		{"slope", measureScaledSlope},
	} {
		if !c.wants(half.name) {
			continue
		}
		if err := half.run(ctx, r, c); err != nil {
			return fmt.Errorf("%s: %w", half.name, err)
		}
	}
	return nil
}

// scaledCluster returns the cluster to measure, or the share of it that was asked for.
func scaledCluster(c choice) simulated {
	return simulated{c.scaled(scaledServices, 10), scaledPodsPerService}
}

// simulatedCluster is a simulated API server, as a process of its own.
type simulatedCluster struct {
	*process
	simulated
	dir, kubeconfig, url string
	client               *http.Client
}

// startSimulated starts a simulated API server; the arguments are further ones of its command.
func startSimulated(ctx context.Context, s simulated, args ...string) (*simulatedCluster, error) {
	dir, err := os.MkdirTemp("", "signpost-bench-")
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args = append([]string{"apiserver", "--dir", dir, "--services", fmt.Sprint(s.services), "--pods", fmt.Sprint(s.pods)}, args...)
	p, err := start(ctx, dir, self, args...)
	if err != nil {
		return nil, err
	}
	k := &simulatedCluster{process: p, simulated: s, dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := k.connect(ctx); err != nil {
		k.stop()
		return nil, err
	}
	return k, nil
}

func (k *simulatedCluster) connect(ctx context.Context) error {
	err := poll(ctx, 20*time.Second, func() bool {
		_, err := os.Stat(k.kubeconfig)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("start the simulated API server: %w: see %s", err, k.log)
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		return err
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	k.url, k.client = config.Host, simulatedClient(trust)
	return nil
}

func simulatedClient(trust *tls.Config) *http.Client {
	return &http.Client{Transport: &http2.Transport{TLSClientConfig: trust}}
}

func (k *simulatedCluster) stop() {
	k.process.stop()
	_ = os.RemoveAll(k.dir)
}

// change makes changes. When it returns, their events are on their way.
func (k *simulatedCluster) change(ctx context.Context, c changes) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+"/bench/changes", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := k.client.Do(req)
	if err != nil {
		return fmt.Errorf("change the simulated cluster: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("change the simulated cluster: %s: %s", res.Status, text)
	}
	return err
}

// collections are what a destination server reads of a simulated cluster, as it reads them.
var collections = map[string]string{
	"/api/v1/pods": "application/vnd.kubernetes.protobuf",
	"/apis/discovery.k8s.io/v1/endpointslices": "application/vnd.kubernetes.protobuf",
	"/api/v1/services":                         "application/vnd.kubernetes.protobuf",
	"/api/v1/nodes":                            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"/apis/apps/v1/replicasets":                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
}

// readAll streams all objects and throws them away: it takes as long as the server takes for
// making and sending them. It returns the number of bytes.
func (k *simulatedCluster) readAll(ctx context.Context) (int64, error) {
	g, ctx := errgroup.WithContext(ctx)
	var sum atomic.Int64
	for path, accept := range collections {
		g.Go(func() error {
			n, err := k.readInitial(ctx, path, accept)
			sum.Add(n)
			return err
		})
	}
	err := g.Wait()
	return sum.Load(), err
}

// readInitial reads a watch until the bookmark after the objects that exist.
func (k *simulatedCluster) readInitial(ctx context.Context, path, accept string) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+path+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", accept)
	res, err := k.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	frame := make([]byte, 1<<20)
	for total := int64(0); ; {
		if _, err := io.ReadFull(res.Body, frame[:4]); err != nil {
			return total, fmt.Errorf("read %s: %w", path, err)
		}
		n := binary.BigEndian.Uint32(frame)
		if int(n) > len(frame) {
			return total, fmt.Errorf("read %s: a frame of %d bytes", path, n)
		}
		if _, err := io.ReadFull(res.Body, frame[:n]); err != nil {
			return total, fmt.Errorf("read %s: %w", path, err)
		}
		total += int64(n) + 4
		if n < 1000 && bytes.Contains(frame[:n], []byte(metav1.InitialEventsAnnotationKey)) {
			return total, nil
		}
	}
}

// scaledRun is a destination server beside a simulated API server.
type scaledRun struct {
	cluster *simulatedCluster
	server  *server
	// ready is how long the start took until the server was ready, and begun its CPU time until then.
	ready time.Duration
	begun usage
}

// startLarge starts the simulated API server of a large cluster, and a destination server beside it.
func startLarge(ctx context.Context, c choice, env ...string) (*scaledRun, error) {
	k, err := startSimulated(ctx, scaledCluster(c))
	if err != nil {
		return nil, err
	}
	run, err := startScaled(ctx, k, env...)
	if err != nil {
		k.stop()
		return nil, err
	}
	return run, nil
}

// stop ends both.
func (run *scaledRun) stop() {
	run.server.stop()
	run.cluster.stop()
}

// startScaled starts a destination server and waits until it is ready.
func startScaled(ctx context.Context, k *simulatedCluster, env ...string) (*scaledRun, error) {
	begun := time.Now()
	s, err := startDestination(ctx, k.dir, k.kubeconfig, env...)
	if err != nil {
		return nil, err
	}
	run := &scaledRun{cluster: k, server: s}
	err = s.awaitReady(ctx)
	run.ready = time.Since(begun)
	if err == nil {
		run.begun, err = s.usage()
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return run, nil
}

// pollSlowly waits until the condition holds, for what takes seconds and shares the machine with what is measured.
func pollSlowly(ctx context.Context, limit time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	for !holds() {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
