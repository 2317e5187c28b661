package xdsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/signpostd/signpost/app/destclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/xds/resource"
)

// Options are the argument and the flags of the command.
type Options struct {
	Target, Addr          string // what a client has after xds:///, and the server
	Zone, Node, Namespace string // the place of the client
	TLS                   TLS
	Watch                 bool
	Timeout               time.Duration // until the first complete response
	Output                output.Format
}

// ErrUnknown is the error for a target that doesn't exist. The output has the reason.
var ErrUnknown = errors.New("the target doesn't exist")

// Get prints the tree of a target to out: once, or each time that it changes until the context
// ends.
func Get(ctx context.Context, o Options, out io.Writer) error {
	transport, err := o.TLS.credentials()
	if err != nil {
		return err
	}
	if ctx, err = o.TLS.withToken(ctx); err != nil {
		return err
	}
	conn, err := (&destclient.Options{Addr: o.Addr, Timeout: o.Timeout, Transport: transport}).Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := time.AfterFunc(o.Timeout, func() { cancel(errNoResponse) })
	defer first.Stop()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return o.queryError(ctx, err)
	}
	t := &tree{options: o, stream: stream, resources: map[key][]byte{}, requested: map[string][]string{}}
	if err := t.request(resource.ListenerURL, "", []string{o.Target}); err != nil {
		return err
	}
	for last := ""; ; {
		r, err := stream.Recv()
		switch {
		case err != nil && last != "" && ctx.Err() != nil:
			return nil
		case err != nil:
			return o.queryError(ctx, err)
		}
		tree, complete, err := t.handle(r)
		if err != nil {
			return err
		}
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
		if tree.Reason != "" {
			return ErrUnknown
		}
		return nil
	}
}

// errNoResponse is the cause of the end of a call that has no complete response within the timeout.
var errNoResponse = errors.New("no complete response")

// queryError returns the error of a call, without the wrapping of gRPC, and with what to do.
func (o Options) queryError(ctx context.Context, err error) error {
	if context.Cause(ctx) == errNoResponse {
		return fmt.Errorf("query %s: %w within %v: check the address, or set a longer --timeout", o.Addr, errNoResponse, o.Timeout)
	}
	st := status.Convert(err)
	text, advice := destclient.ConnectionError(st.Message(), ": check that an xDS server listens there")
	switch {
	case st.Code() == codes.Unavailable && strings.HasSuffix(text, "server preface: EOF"):
		advice = ": the server closed the connection: if it uses TLS, give --tls-ca"
	case st.Code() == codes.Unimplemented:
		advice = ": this is no xDS server: signpost xds has a port of its own, 8087 by default (--xds-addr)"
	case st.Code() == codes.Unauthenticated:
		advice = ": see --token-file, --tls-cert and --tls-key"
	}
	return fmt.Errorf("query %s: %s: %s%s", o.Addr, st.Code(), output.Clean(text), advice)
}

func (o Options) print(out io.Writer, a result, text string) error {
	show := output.Print
	if o.Watch {
		show, a.Time = output.PrintNext, new(time.Now())
		text = a.Time.Format("15:04:05.000") + "\n" + text
	}
	if err := show(out, o.Output, output.Result{Value: a, Names: a.addresses(), Text: text}); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// tree has the received resources of a target, and the names of the last request by type URL.
type tree struct {
	options   Options
	stream    grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]
	resources map[key][]byte
	requested map[string][]string
}

// key is the type and the name of a resource.
type key struct{ url, name string }

// request requests the resources of a type. The nonce is that of the last response.
func (t *tree) request(url, nonce string, names []string) error {
	t.requested[url] = names
	place := map[string]*structpb.Value{"NODE_NAME": structpb.NewStringValue(t.options.Node), "NAMESPACE": structpb.NewStringValue(t.options.Namespace)}
	node := &corepb.Node{
		Id: "signpost-xds-get", UserAgentName: "gRPC signpost", Locality: &corepb.Locality{Zone: t.options.Zone}, Metadata: &structpb.Struct{Fields: place},
	}
	err := t.stream.Send(&discovery.DiscoveryRequest{TypeUrl: url, ResourceNames: names, ResponseNonce: nonce, Node: node})
	if err != nil && !errors.Is(err, io.EOF) { // Recv says why
		return t.options.queryError(t.stream.Context(), err)
	}
	return nil
}

// handle acknowledges a response, and requests the resources that it refers to. It returns the tree
// as far as it is known, and whether it is complete.
func (t *tree) handle(r *discovery.DiscoveryResponse) (made result, complete bool, err error) {
	for _, each := range r.GetResources() {
		t.resources[key{each.GetTypeUrl(), string(one(each.GetValue(), 1))}] = each.GetValue()
	}
	made, needed, complete := t.result()
	for _, url := range []string{resource.ListenerURL, resource.RouteConfigurationURL, resource.ClusterURL, resource.EndpointsURL} {
		nonce := ""
		if url == r.GetTypeUrl() {
			nonce = r.GetNonce()
		} else if slices.Equal(needed[url], t.requested[url]) {
			continue
		}
		if err := t.request(url, nonce, needed[url]); err != nil {
			return made, false, err
		}
	}
	return made, complete, nil
}

// result returns the tree as far as it is known, the names of the resources in it by type, and
// whether all of them are known.
func (t *tree) result() (made result, needed map[string][]string, complete bool) {
	needed, complete = map[string][]string{}, true
	get := func(url, name string) []byte {
		if !slices.Contains(needed[url], name) {
			needed[url] = append(needed[url], name)
		}
		value := t.resources[key{url, name}]
		complete = complete && value != nil
		return value
	}
	manager := one(get(resource.ListenerURL, t.options.Target), 19, 1, 2) // api_listener.api_listener.value
	configuration := one(manager, 4)
	if name := one(manager, 3, 2); name != nil {
		configuration = get(resource.RouteConfigurationURL, string(name))
	}
	made = result{Target: t.options.Target, Routes: routesIn(configuration)}
	for _, r := range made.Routes {
		for i := range r.Clusters {
			c := &r.Clusters[i]
			c.Localities = []targetLocality{}
			cluster := get(resource.ClusterURL, c.Name)
			if cluster == nil {
				continue
			}
			c.TLS = tlsOf(cluster)
			name := cmp.Or(string(one(cluster, 3, 2)), c.Name) // eds_cluster_config.service_name
			var a endpointpb.ClusterLoadAssignment
			if proto.Unmarshal(get(resource.EndpointsURL, name), &a) != nil {
				complete = false
			}
			c.Localities = localitiesOf(&a)
		}
	}
	made.Reason = made.reason()
	return made, needed, complete
}
