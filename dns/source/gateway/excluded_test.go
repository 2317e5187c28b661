package gateway_test

import (
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// TestExcludedRoutesKeepTheirNames shows that a route that --annotation-filter excludes is found by its
// names, like an Ingress.
func TestExcludedRoutesKeepTheirNames(t *testing.T) {
	s := sourcetest.MustOpen(t, plugins["httproute"], `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: default}
spec: {hostnames: [shop.example.org, www.example.org]}
`, "--annotation-filter=net=public")
	result := s.Evaluate(source.Key{Kind: "HTTPRoute.gateway.networking.k8s.io", Namespace: "default", Name: "shop"})
	if want := []string{"shop.example.org", "www.example.org"}; !slices.Equal(result.Wanted, want) {
		t.Errorf("the names are %q, want %q; the skips are %+v", result.Wanted, want, result.Skipped)
	}
}
