package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	grpcxds "google.golang.org/grpc/xds"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/internal/childprocess"
)

//go:embed greeter.yaml
var greeter []byte

const (
	greeterTarget = "xds:///greeter.shop:50051"
	// greeterPods is how many pods the Deployment has.
	greeterPods = 3
	// callers is how many goroutines call, and callGap the pause of each between two calls.
	callers, callGap = 4, 10 * time.Millisecond
	callTimeout      = 10 * time.Second
)

// calls shows a gRPC client that finds pods by xDS and loses no call while all of them are replaced.
func (s *environment) calls(ctx context.Context) error {
	say("Opening a gRPC service without a mesh (dev/demo/greeter.yaml), and starting Signpost for its clients: signpost xds")
	if err := s.manifests.ApplyAll(ctx, bytes.NewReader(greeter), "shop"); err != nil {
		return err
	}
	bootstrap, err := s.startXDS(ctx)
	if err != nil {
		return err
	}
	if err := s.rolledOut(ctx, "greeter", greeterPods); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	pods := &servers{byIP: map[string]*podServer{}}
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	list, err := s.client.CoreV1().Pods("shop").Watch(running, metav1.ListOptions{LabelSelector: "app=greeter"})
	if err != nil {
		return fmt.Errorf("watch the pods of greeter: %w", err)
	}
	work.Go(func() { pods.follow(list) })
	defer list.Stop()
	client, err := dialGreeter(bootstrap, pods)
	if err != nil {
		return err
	}
	defer client.Close()
	say("Calling %s with grpc-go, in %d goroutines, during: kubectl -n shop rollout restart deployment greeter", greeterTarget, callers)
	var count callCount
	calling, hangUp := context.WithCancel(running)
	defer hangUp()
	var calls sync.WaitGroup
	for range callers {
		calls.Go(func() { count.callOn(calling, healthpb.NewHealthClient(client)) })
	}
	if err := s.waitFor(ctx, "the first pods to be called", time.Minute, func() (bool, error) {
		return pods.called() == greeterPods, fmt.Errorf("%d pods were called, %s", pods.called(), count.text())
	}); err != nil {
		return err
	}
	if err := s.replaceAll(ctx, "greeter", greeterPods); err != nil {
		return err
	}
	if err := s.waitFor(ctx, "the new pods to be called, and the old ones to end", time.Minute, func() (bool, error) {
		return pods.called() == 2*greeterPods && pods.left() == greeterPods, fmt.Errorf("%d pods were called, %d are left; %s", pods.called(), pods.left(), count.text())
	}); err != nil {
		return err
	}
	hangUp()
	calls.Wait()
	fmt.Printf("  %s, answered by %d pods, of which %d are gone\n", count.text(), pods.called(), pods.called()-pods.left())
	if n := count.failed.Load(); n > 0 {
		return fmt.Errorf("%d calls failed during the rollout, the first one: %w", n, *count.first.Load())
	}
	return nil
}

// startXDS starts the xds role, and returns the bootstrap file of its clients.
func (s *environment) startXDS(ctx context.Context) ([]byte, error) {
	addr, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	admin, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	err = s.start(show("  "), "bin/signpost", "xds", "--kubeconfig", s.kubeconfig, "--xds-addr", addr, "--metrics-addr", admin)
	if err != nil {
		return nil, err
	}
	if _, err := s.ready(ctx, admin, "ok"); err != nil {
		return nil, err
	}
	file, err := exec.CommandContext(ctx, "bin/signpost", "xds", "bootstrap", "--server", "passthrough:///"+addr).Output()
	if err != nil {
		return nil, fmt.Errorf("signpost xds bootstrap: %w", err)
	}
	return file, nil
}

// dialGreeter returns a channel of a client of grpc-go with a bootstrap file. Its connections to pods go to
// their servers here: the nodes of the cluster are simulated.
func dialGreeter(bootstrap []byte, pods *servers) (*grpc.ClientConn, error) {
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		return nil, fmt.Errorf("use the bootstrap file: %w", err)
	}
	return grpc.NewClient(greeterTarget, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver), grpc.WithContextDialer(pods.dial))
}

// callCount counts calls.
type callCount struct {
	ok, failed atomic.Int64
	first      atomic.Pointer[error] // of the failures
}

// callOn calls until the context ends.
func (c *callCount) callOn(ctx context.Context, client healthpb.HealthClient) {
	for ctx.Err() == nil {
		// A call that has begun is completed.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		if _, err := client.Check(call, &healthpb.HealthCheckRequest{}); err != nil {
			c.failed.Add(1)
			c.first.CompareAndSwap(nil, &err)
		} else {
			c.ok.Add(1)
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(callGap):
		}
	}
}

func (c *callCount) text() string {
	return fmt.Sprintf("%d calls, %d failed", c.ok.Load()+c.failed.Load(), c.failed.Load())
}

// servers are the gRPC servers of the pods that exist: those of pods that are gone refuse connections.
type servers struct {
	mu   sync.Mutex
	byIP map[string]*podServer
	// gone are the servers of pods that are gone.
	gone []*podServer
}

// podServer is the server in one pod. It counts calls.
type podServer struct {
	healthpb.UnimplementedHealthServer
	server *grpc.Server
	addr   string
	calls  atomic.Int64
}

// Check implements the health service.
func (p *podServer) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	p.calls.Add(1)
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

// follow starts a server for each pod that has an address, and stops it when the pod is gone, until the watch
// ends. Then it stops all of them.
func (s *servers) follow(pods watch.Interface) {
	var serving sync.WaitGroup
	defer serving.Wait()
	for e := range pods.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok || pod.Status.PodIP == "" {
			continue
		}
		if e.Type == watch.Deleted {
			s.end(pod.Status.PodIP)
		} else {
			s.begin(pod.Status.PodIP, &serving)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.byIP {
		p.server.Stop()
	}
}

// begin starts the server of a pod, unless it runs.
func (s *servers) begin(ip string, serving *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byIP[ip] != nil {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return // clients can't connect to the pod, which the demo notices
	}
	p := &podServer{server: grpc.NewServer(), addr: l.Addr().String()}
	healthpb.RegisterHealthServer(p.server, p)
	s.byIP[ip] = p
	serving.Go(func() { _ = p.server.Serve(l) }) // it ends when it is stopped
}

// end stops the server of a pod as the end of its container would: at once.
func (s *servers) end(ip string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.byIP[ip]; p != nil {
		p.server.Stop()
		s.gone = append(s.gone, p)
		delete(s.byIP, ip)
	}
}

// dial connects to the server of the pod that has an address.
func (s *servers) dial(ctx context.Context, addr string) (net.Conn, error) {
	ip, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	p := s.byIP[ip]
	s.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("connect to %s: connection refused: there is no such pod", addr)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
}

// called returns how many pods have answered a call.
func (s *servers) called() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.byIP {
		n += min(1, int(p.calls.Load()))
	}
	for _, p := range s.gone {
		n += min(1, int(p.calls.Load()))
	}
	return n
}

// left returns how many pods there are.
func (s *servers) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byIP)
}
