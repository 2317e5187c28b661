package destination

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// A replica with outdated tables never returns NotFound for an object that it lacks, because the object may
// exist (day2 B5). A cluster whose Secret can't be used is not treated as unlinked (B7).
func TestNoNotFoundFromOutdatedTables(t *testing.T) {
	mirror := func(name, cluster string) *catalog.Service {
		s := profileService(name)
		remote(cluster, "web")(s)
		return s
	}
	objects := map[catalog.ID]catalog.Object{}
	for _, s := range []*catalog.Service{mirror("of-west", "west"), mirror("of-bad", "bad"), profileService("web")} {
		objects[s.ID()] = s
	}
	var outdated []string
	server := NewServer(newCatalog(catalog.Options{}, objects), Config{
		ClusterDomain: "cluster.local",
		Outdated: func(resources ...string) string {
			for _, r := range resources {
				if slices.Contains(outdated, r) {
					return "it can't read " + r
				}
			}
			return ""
		},
		UnusableLink: func(cluster string) string {
			if cluster == "bad" {
				return "its Secret bad can't be used: no kubeconfig"
			}
			return ""
		},
	}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	get := func(name string) error {
		_, err := server.servable(profileService(name).Key, name)
		return err
	}
	profile := func(hostname, name string) error {
		q := catalog.ProfileQuery{Cluster: catalog.LocalCluster, Service: profileService(name).Key, Hostname: hostname, Port: 80}
		view := mustAcquire(server.profiles.acquire(q, clientlimits.ClientID{}))
		defer server.profiles.release(view)
		return (&profileStream{server: server, view: view, out: &profileSink{}}).run(context.Background())
	}
	for name, tc := range map[string]struct {
		ask      func() error
		outdated []string
		want     codes.Code
	}{
		"Get of a Service":                   {func() error { return get("gone") }, nil, codes.NotFound},
		"Get, Services are outdated":         {func() error { return get("gone") }, []string{"services"}, codes.Unavailable},
		"Get, pods are outdated":             {func() error { return get("gone") }, []string{"pods"}, codes.NotFound},
		"Get of an unlinked cluster":         {func() error { return get("of-west") }, nil, codes.NotFound},
		"Get of it, Secrets are outdated":    {func() error { return get("of-west") }, []string{"secrets"}, codes.Unavailable},
		"Get of a cluster with a bad Secret": {func() error { return get("of-bad") }, nil, codes.Unavailable},
		"GetProfile of a Service":            {func() error { return profile("", "gone") }, nil, codes.NotFound},
		"GetProfile, Services are outdated":  {func() error { return profile("", "gone") }, []string{"services"}, codes.Unavailable},
		"GetProfile of a hostname":           {func() error { return profile("web-0", "web") }, nil, codes.NotFound},
		"GetProfile of it, slices are":       {func() error { return profile("web-0", "web") }, []string{"endpointslices"}, codes.Unavailable},
	} {
		outdated = tc.outdated
		if err := tc.ask(); status.Code(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}
