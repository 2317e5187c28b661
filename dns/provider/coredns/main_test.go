package coredns

import (
	"context"
	"testing"

	"github.com/signpostd/signpost/testkit/etcdtest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// etcdURL is where the etcd of these tests is.
var etcdURL string

func TestMain(m *testing.M) {
	providertest.Main(m, "etcd", func() (func(), error) {
		server, err := etcdtest.Start(context.Background())
		if err != nil {
			return nil, err
		}
		etcdURL = server.URL
		return server.Stop, nil
	})
}
