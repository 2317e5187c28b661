package process

import (
	"testing"

	"github.com/signpostd/signpost/xds"
)

// A wildcard that covers nothing is said to, because Envoy shows no error.
func TestXDSNames(t *testing.T) {
	for _, test := range []struct {
		stream xds.OpenStream
		want   string
	}{
		{xds.OpenStream{Names: []string{"*"}}, "* (no Clusters: check signpost.dev/namespaces in the metadata of the node)"},
		{xds.OpenStream{Names: []string{"*", "web.shop.svc.cluster.local:80"}}, "* web.shop.svc.cluster.local:80"},
		{xds.OpenStream{Names: []string{"web.shop:80"}, Unknown: []string{"web.shop:80"}}, "web.shop:80 (unknown: web.shop:80)"},
	} {
		if got := xdsNamesOf(&test.stream); got != test.want {
			t.Errorf("%v: %q, want %q", test.stream.Names, got, test.want)
		}
	}
}
