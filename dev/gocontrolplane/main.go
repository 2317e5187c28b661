// Command gocontrolplane is an xDS server as people write it with
// github.com/envoyproxy/go-control-plane: it watches the EndpointSlices of one Service, and makes a
// snapshot of all resources after each change. dev/bench measures Signpost beside it (make bench
// ONLY=xds). Its module is separate, so that no other program depends on go-control-plane's server.
//
// All clients share one snapshot. Its resources have the names and the content that Signpost gives them.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	managerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "gocontrolplane:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	addr := flag.String("addr", "127.0.0.1:18088", "address to serve")
	kubeconfig := flag.String("kubeconfig", "", "cluster to watch")
	w := &watcher{slices: map[string]*discoveryv1.EndpointSlice{}}
	flag.StringVar(&w.namespace, "namespace", "bench", "namespace of the Service")
	flag.StringVar(&w.service, "service", "web", "name of the Service")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	events, err := client.DiscoveryV1().EndpointSlices(w.namespace).Watch(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + w.service,
	})
	if err != nil {
		return fmt.Errorf("watch EndpointSlices: %w", err)
	}
	w.cache = cache.NewSnapshotCache(true, sameForAll{}, nil)
	go func() {
		for e := range events.ResultChan() {
			if s, ok := e.Object.(*discoveryv1.EndpointSlice); ok {
				w.slices[s.Name] = s
				if err := w.publish(ctx); err != nil {
					fmt.Fprintln(os.Stderr, "gocontrolplane:", err)
				}
			}
		}
	}()
	g := grpc.NewServer(grpc.MaxConcurrentStreams(math.MaxUint32))
	discovery.RegisterAggregatedDiscoveryServiceServer(g, server.NewServer(ctx, w.cache, nil))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, g.Stop)
	return g.Serve(l)
}

// sameForAll gives all nodes one snapshot.
type sameForAll struct{}

// ID implements cache.NodeHash.
func (sameForAll) ID(*corepb.Node) string { return "all" }

// watcher makes snapshots from slices. One goroutine uses it.
type watcher struct {
	namespace, service string
	cache              cache.SnapshotCache
	slices             map[string]*discoveryv1.EndpointSlice
	version            int
}

const port = 80

func (w *watcher) listenerName() string { return fmt.Sprintf("%s.%s:%d", w.service, w.namespace, port) }

func (w *watcher) clusterName() string {
	return fmt.Sprintf("%s.%s.svc.cluster.local:%d", w.service, w.namespace, port)
}

func (w *watcher) publish(ctx context.Context) error {
	listener, err := w.listener()
	if err != nil {
		return err
	}
	w.version++
	s, err := cache.NewSnapshot(strconv.Itoa(w.version), map[resource.Type][]types.Resource{
		resource.ListenerType: {listener}, resource.ClusterType: {w.cluster()}, resource.EndpointType: {w.assignment()},
	})
	if err != nil {
		return err
	}
	return w.cache.SetSnapshot(ctx, "all", s)
}

func (w *watcher) listener() (*listenerpb.Listener, error) {
	router, err := anypb.New(&routerpb.Router{})
	if err != nil {
		return nil, err
	}
	manager, err := anypb.New(&managerpb.HttpConnectionManager{
		HttpFilters: []*managerpb.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &managerpb.HttpFilter_TypedConfig{TypedConfig: router},
		}},
		RouteSpecifier: &managerpb.HttpConnectionManager_RouteConfig{RouteConfig: &routepb.RouteConfiguration{
			VirtualHosts: []*routepb.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routepb.Route{{
				Match:  &routepb.RouteMatch{PathSpecifier: &routepb.RouteMatch_Prefix{}},
				Action: &routepb.Route_Route{Route: &routepb.RouteAction{ClusterSpecifier: &routepb.RouteAction_Cluster{Cluster: w.clusterName()}}},
			}}}},
		}},
	})
	return &listenerpb.Listener{Name: w.listenerName(), ApiListener: &listenerpb.ApiListener{ApiListener: manager}}, err
}

func (w *watcher) cluster() *clusterpb.Cluster {
	return &clusterpb.Cluster{
		Name:                 w.clusterName(),
		ClusterDiscoveryType: &clusterpb.Cluster_Type{Type: clusterpb.Cluster_EDS},
		EdsClusterConfig: &clusterpb.Cluster_EdsClusterConfig{EdsConfig: &corepb.ConfigSource{
			ConfigSourceSpecifier: &corepb.ConfigSource_Ads{Ads: &corepb.AggregatedConfigSource{}}, ResourceApiVersion: corepb.ApiVersion_V3,
		}},
		ConnectTimeout: durationpb.New(5 * time.Second),
	}
}

// assignment returns the ready endpoints by zone, as Signpost sends them.
func (w *watcher) assignment() proto.Message {
	byZone := map[string]*endpointpb.LocalityLbEndpoints{}
	for _, s := range w.slices {
		for i := range s.Endpoints {
			w.add(byZone, &s.Endpoints[i], uint32(*s.Ports[0].Port))
		}
	}
	a := &endpointpb.ClusterLoadAssignment{ClusterName: w.clusterName()}
	for _, l := range byZone {
		l.LoadBalancingWeight = wrapperspb.UInt32(uint32(len(l.LbEndpoints)))
		slices.SortFunc(l.LbEndpoints, func(a, b *endpointpb.LbEndpoint) int { return cmp.Compare(address(a), address(b)) })
		a.Endpoints = append(a.Endpoints, l)
	}
	slices.SortFunc(a.Endpoints, func(a, b *endpointpb.LocalityLbEndpoints) int {
		return cmp.Compare(a.Locality.Zone, b.Locality.Zone)
	})
	return a
}

func (w *watcher) add(byZone map[string]*endpointpb.LocalityLbEndpoints, e *discoveryv1.Endpoint, port uint32) {
	zone := *e.Zone
	if byZone[zone] == nil {
		byZone[zone] = &endpointpb.LocalityLbEndpoints{Locality: &corepb.Locality{Zone: zone}}
	}
	byZone[zone].LbEndpoints = append(byZone[zone].LbEndpoints, &endpointpb.LbEndpoint{
		HostIdentifier: &endpointpb.LbEndpoint_Endpoint{Endpoint: &endpointpb.Endpoint{Address: &corepb.Address{
			Address: &corepb.Address_SocketAddress{SocketAddress: &corepb.SocketAddress{
				Address: e.Addresses[0], PortSpecifier: &corepb.SocketAddress_PortValue{PortValue: port},
			}},
		}}},
	})
}

func address(e *endpointpb.LbEndpoint) string {
	return e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
}
