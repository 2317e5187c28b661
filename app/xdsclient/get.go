package xdsclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/signpostd/signpost/app/destclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/xds/resource"
)

// Options are the argument and the flags of the command.
type Options struct {
	// Target is what a client has after xds:///. Addr is the server.
	Target, Addr string
	// Zone, Node and Namespace are the place of the client; each may be empty.
	Zone, Node, Namespace string
	Watch                 bool
	Timeout               time.Duration
	// Output is the format. With Watch, a result in JSON is one line.
	Output output.Format
}

// ErrUnknown is the error for a target that doesn't exist. The output has the reason.
var ErrUnknown = errors.New("the target doesn't exist")

// Get prints the tree of a target to out: once, or each time that it changes until the context
// ends.
func Get(ctx context.Context, o Options, out io.Writer) error {
	conn, err := grpc.NewClient(o.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return settings.Usagef("--addr=%s: %w", o.Addr, err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := time.AfterFunc(o.Timeout, cancel)
	defer first.Stop()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return queryError(o.Addr, err)
	}
	t := &tree{
		options: o, stream: stream, routes: map[string][]targetRoute{}, clusters: map[string]cluster{},
		endpoints: map[string]*endpointpb.ClusterLoadAssignment{}, requested: map[string][]string{},
	}
	if err := t.request(resource.ListenerURL, "", []string{o.Target}); err != nil {
		return err
	}
	for last := ""; ; {
		r, err := stream.Recv()
		switch {
		case err != nil && last != "" && ctx.Err() != nil:
			return nil
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("query %s: no complete response within %v", o.Addr, o.Timeout)
		case err != nil:
			return queryError(o.Addr, err)
		}
		if err := t.handle(r); err != nil {
			return err
		}
		tree, complete := t.result()
		text := tree.text()
		if !complete || text == last {
			continue
		}
		first.Stop()
		last = text
		if err := o.print(out, tree, text); err != nil {
			return err
		}
		if o.Watch {
			continue
		}
		if t.unknown() {
			return ErrUnknown
		}
		return nil
	}
}

// queryError returns the error of a call, without the wrapping of gRPC.
func queryError(addr string, err error) error {
	st, ok := status.FromError(err)
	switch {
	case !ok:
		return fmt.Errorf("query %s: %w", addr, err)
	case st.Code() == codes.Unavailable:
		return fmt.Errorf("query %s: %s: %s: check that an xDS server listens there", addr, st.Code(), output.Clean(destclient.ConnectionError(st.Message())))
	default:
		return fmt.Errorf("query %s: %s: %s", addr, st.Code(), output.Clean(st.Message()))
	}
}

// print prints a result; with Watch, also the time.
func (o Options) print(out io.Writer, a result, text string) error {
	if o.Watch {
		a.Time = new(time.Now())
		switch {
		case o.Output.IsTable():
			text = a.Time.Format("15:04:05.000") + "\n" + text
		case o.Output.Kind == output.JSON:
			return json.NewEncoder(out).Encode(a)
		case o.Output.Kind == output.YAML:
			if _, err := io.WriteString(out, "---\n"); err != nil {
				return err
			}
		}
	}
	if err := output.Print(out, o.Output, output.Result{Value: a, Names: a.addresses(), Text: text}); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// tree has the received resources of a target.
type tree struct {
	options Options
	stream  grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]
	// listener is the last one; nil before. rds is the name of its routes, if they aren't in it.
	listener  []byte
	rds       string
	routes    map[string][]targetRoute // by the name of the routes; "" is in the Listener
	clusters  map[string]cluster
	endpoints map[string]*endpointpb.ClusterLoadAssignment
	requested map[string][]string // the names of the last request, by type
}

// request requests the resources of a type with these names. The nonce is that of the last
// response.
func (t *tree) request(url, nonce string, names []string) error {
	t.requested[url] = names
	metadata := map[string]*structpb.Value{}
	for key, value := range map[string]string{"NODE_NAME": t.options.Node, "NAMESPACE": t.options.Namespace} {
		if value != "" {
			metadata[key] = structpb.NewStringValue(value)
		}
	}
	err := t.stream.Send(&discovery.DiscoveryRequest{
		TypeUrl: url, ResourceNames: names, ResponseNonce: nonce,
		Node: &corepb.Node{
			Id: "signpost-xds-get", UserAgentName: "gRPC signpost", Locality: &corepb.Locality{Zone: t.options.Zone},
			Metadata: &structpb.Struct{Fields: metadata},
		},
	})
	if err != nil && !errors.Is(err, io.EOF) { // Recv says why
		return queryError(t.options.Addr, err)
	}
	return nil
}

// handle acknowledges a response, and requests the resources that it refers to.
func (t *tree) handle(r *discovery.DiscoveryResponse) error {
	for _, each := range r.GetResources() {
		t.add(each)
	}
	if err := t.request(r.GetTypeUrl(), r.GetNonce(), t.requested[r.GetTypeUrl()]); err != nil {
		return err
	}
	var routes, clusters, endpoints []string
	if t.rds != "" {
		routes = []string{t.rds}
	}
	for _, r := range t.routes[t.rds] {
		for _, c := range r.Clusters {
			clusters = append(clusters, c.Name)
			if of, known := t.clusters[c.Name]; known {
				endpoints = append(endpoints, of.endpoints)
			}
		}
	}
	for url, names := range map[string][]string{resource.RouteConfigurationURL: routes, resource.ClusterURL: clusters, resource.EndpointsURL: endpoints} {
		if strings.Join(names, "\x00") == strings.Join(t.requested[url], "\x00") {
			continue
		}
		if err := t.request(url, "", names); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) add(r *anypb.Any) {
	switch value := r.GetValue(); r.GetTypeUrl() {
	case resource.ListenerURL:
		t.listener = value
		t.routes[""], t.rds = routesOf(value)
	case resource.RouteConfigurationURL:
		t.routes[string(one(value, 1))] = routesIn(value)
	case resource.ClusterURL:
		name := string(one(value, 1))
		t.clusters[name] = cluster{endpoints: endpointsOf(name, value), tls: tlsOf(value)}
	case resource.EndpointsURL:
		a := &endpointpb.ClusterLoadAssignment{}
		if r.UnmarshalTo(a) == nil {
			t.endpoints[a.GetClusterName()] = a
		}
	}
}

// unknown reports whether the Listener leads nowhere, or to a Cluster that is called by a reason.
func (t *tree) unknown() bool {
	for _, r := range t.routes[t.rds] {
		for _, c := range r.Clusters {
			if !strings.Contains(c.Name, " ") { // the name of a Service has no space
				return false
			}
		}
	}
	return true
}

// result returns the tree as far as it is known, and whether it is complete.
func (t *tree) result() (made result, complete bool) {
	routes, known := t.routes[t.rds]
	complete = t.listener != nil && known
	made = result{Target: t.options.Target, Routes: []targetRoute{}}
	for _, r := range routes {
		r.Clusters = slices.Clone(r.Clusters)
		for i := range r.Clusters {
			c := &r.Clusters[i]
			of, hasCluster := t.clusters[c.Name]
			a := t.endpoints[of.endpoints]
			complete = complete && hasCluster && a != nil
			c.TLS, c.Localities = of.tls, localitiesOf(a)
		}
		made.Routes = append(made.Routes, r)
	}
	return made, complete
}
