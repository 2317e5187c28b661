package workload

import (
	"context"
	"flag"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Floor is a gRPC server that does the least that is needed for the EndpointSlices of the Service.
type Floor struct {
	Service grpc.ServiceDesc
	Codec   encoding.CodecV2
	// Apply is called with each slice that appears or changes.
	Apply func(*discoveryv1.EndpointSlice)
}

// Serve serves until the context ends. The arguments are --addr and --kubeconfig.
func (f Floor) Serve(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("floor", flag.ExitOnError)
	addr := fs.String("addr", "127.0.0.1:18087", "address to serve")
	kubeconfig := fs.String("kubeconfig", "", "cluster to watch")
	if err := fs.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	events, err := client.DiscoveryV1().EndpointSlices(Namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + Service,
	})
	if err != nil {
		return err
	}
	go func() {
		for e := range events.ResultChan() {
			if s, ok := e.Object.(*discoveryv1.EndpointSlice); ok {
				f.Apply(s)
			}
		}
	}()
	g := grpc.NewServer(grpc.ForceServerCodecV2(f.Codec))
	g.RegisterService(&f.Service, nil)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, g.Stop)
	return g.Serve(l)
}
