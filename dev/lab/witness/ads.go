package witness

import (
	"context"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"
)

// assignmentType is the type URL of a ClusterLoadAssignment.
const assignmentType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// ads is an open ADS stream with a subscription to ClusterLoadAssignments, in one of the two variants of the
// protocol.
type ads interface {
	// receive returns the next response.
	receive() (adsResponse, error)
	// acknowledge accepts a response.
	acknowledge(r adsResponse) error
}

// adsResponse is a response of either variant. Names in removed_resources are ignored, as by clients with the
// server feature ignore_resource_deletion.
type adsResponse struct {
	version, nonce string // the version is empty in delta responses
	resources      []adsResource
}

// adsResource is a resource of a response. In state of the world, its version is that of the response.
type adsResource struct {
	version string
	body    *anypb.Any
}

func labNode() *corepb.Node {
	return &corepb.Node{Id: "lab", UserAgentName: "signpost-lab"}
}

// openADS opens a stream of a call and subscribes to names. versions are the client's versions from earlier
// streams, by name.
func openADS(ctx context.Context, conn *grpc.ClientConn, call string, names []string, versions map[string]string) (ads, error) {
	api := discovery.NewAggregatedDiscoveryServiceClient(conn)
	if call == CallDeltaEDS {
		stream, err := api.DeltaAggregatedResources(ctx)
		if err != nil {
			return nil, err
		}
		return deltaADS{stream}, stream.Send(&discovery.DeltaDiscoveryRequest{
			Node: labNode(), TypeUrl: assignmentType, ResourceNamesSubscribe: names, InitialResourceVersions: versions,
		})
	}
	stream, err := api.StreamAggregatedResources(ctx)
	if err != nil {
		return nil, err
	}
	return wholeADS{stream, names}, stream.Send(&discovery.DiscoveryRequest{Node: labNode(), TypeUrl: assignmentType, ResourceNames: names})
}

// deltaADS is a stream of the delta variant.
type deltaADS struct {
	stream discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
}

func (a deltaADS) receive() (adsResponse, error) {
	response, err := a.stream.Recv()
	if err != nil {
		return adsResponse{}, err
	}
	r := adsResponse{nonce: response.GetNonce()}
	for _, resource := range response.GetResources() {
		r.resources = append(r.resources, adsResource{resource.GetVersion(), resource.GetResource()})
	}
	return r, nil
}

func (a deltaADS) acknowledge(r adsResponse) error {
	return a.stream.Send(&discovery.DeltaDiscoveryRequest{TypeUrl: assignmentType, ResponseNonce: r.nonce})
}

// wholeADS is a stream of the state-of-the-world variant.
type wholeADS struct {
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	names  []string
}

func (a wholeADS) receive() (adsResponse, error) {
	response, err := a.stream.Recv()
	if err != nil {
		return adsResponse{}, err
	}
	r := adsResponse{version: response.GetVersionInfo(), nonce: response.GetNonce()}
	for _, body := range response.GetResources() {
		r.resources = append(r.resources, adsResource{r.version, body})
	}
	return r, nil
}

func (a wholeADS) acknowledge(r adsResponse) error {
	return a.stream.Send(&discovery.DiscoveryRequest{TypeUrl: assignmentType, ResourceNames: a.names, VersionInfo: r.version, ResponseNonce: r.nonce})
}
