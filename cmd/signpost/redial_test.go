package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/reachtest"
)

// port is a Destination server with one endpoint, whose port it is.
type port struct {
	pb.UnimplementedDestinationServer
	number uint32
}

// Get implements [pb.DestinationServer].
func (p port) Get(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	address := &netpb.TcpAddress{Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: 10<<24 | 1}}, Port: p.number}
	set := &pb.WeightedAddrSet{Addrs: []*pb.WeightedAddr{{Addr: address, Weight: 1}}}
	if err := stream.Send(&pb.Update{Update: &pb.Update_Add{Add: set}}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// serve starts the server until the test ends, or until stop is called.
func (p port) serve(t *testing.T) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterDestinationServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), server.Stop
}

// TestWatchOutlivesItsPod shows that get --watch finds another pod when its own is gone.
func TestWatchOutlivesItsPod(t *testing.T) {
	first, stop := port{number: 1111}.serve(t)
	second, _ := port{number: 2222}.serve(t)
	var running atomic.Pointer[corev1.Pod]
	before, after := reachtest.Pod("signpost", "before"), reachtest.Pod("signpost", "after")
	running.Store(&before)
	pods := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"gitVersion": "v1.36.0"}`) // the client reports the error
			return
		}
		w.Header().Set("Content-Type", "application/json")
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*running.Load()}}
		_ = json.NewEncoder(w).Encode(list) // the client reports the error
	}))
	defer pods.Close()
	cluster := &reachtest.Server{
		Upstream: &rest.Config{Host: pods.URL},
		Ports:    map[string]string{"signpost/before:8086": first, "signpost/after:8086": second},
	}
	kubeconfig := cluster.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	out, written := io.Pipe()
	var errText strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- executeAs(ctx, signpostProgram, []string{"get", "web.shop:80", "--watch", "--kubeconfig", kubeconfig}, streams{out: written, err: &errText})
		written.Close()
	}()
	lines := bufio.NewScanner(out)
	for _, want := range []string{"10.0.0.1:1111", "10.0.0.1:2222"} {
		for lines.Scan() && !strings.Contains(lines.Text(), want) {
		}
		if !strings.Contains(lines.Text(), want) {
			t.Fatalf("no line with %s, errors:\n%s", want, &errText)
		}
		running.Store(&after)
		stop()
	}
	cancel()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if got := <-code; got != exitOK || !strings.Contains(errText.String(), "signpost: note: pod before is unreachable: asking after\n") {
		t.Errorf("status %d, errors:\n%s", got, &errText)
	}
}
