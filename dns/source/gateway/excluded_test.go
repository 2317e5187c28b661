package gateway_test

import (
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// A route that --annotation-filter leaves out was not found by its names, unlike an Ingress.
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
