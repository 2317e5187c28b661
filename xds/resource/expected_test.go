package resource

import (
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/testing/protocmp"

	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

func TestExpectedMessages(t *testing.T) {
	var wantCluster cluster.Cluster
	var wantHost route.VirtualHost
	for text, m := range map[string]valid{
		`name: "web" type: EDS eds_cluster_config {eds_config {ads {} resource_api_version: V3}} connect_timeout {seconds: 5}
		 metadata {filter_metadata {key: "com.google.csm.telemetry_labels" value {
		   fields {key: "service_name" value {string_value: "web"}} fields {key: "service_namespace" value {string_value: "shop"}}}}}`: &wantCluster,
		`name: "all" domains: "*" routes {match {prefix: ""} route {cluster: "web.shop.svc.cluster.local:80"}}`: &wantHost,
	} {
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
	}
	got := decode(t, body(t, clusterOf("web", web(), GRPC)), &cluster.Cluster{})
	if diff := cmp.Diff(&wantCluster, got, protocmp.Transform()); diff != "" {
		t.Errorf("Cluster (-want +got):\n%s", diff)
	}
	r, _ := namer.Routes(Listener, "web.shop:80", web(), GRPC)
	if diff := cmp.Diff([]*route.VirtualHost{&wantHost}, virtualHosts(t, r), protocmp.Transform()); diff != "" {
		t.Errorf("Listener (-want +got):\n%s", diff)
	}
}
