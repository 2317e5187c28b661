package contourhttpproxy_test

import (
	"testing"

	"github.com/signpostd/signpost/dns/source/contourhttpproxy"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, contourhttpproxy.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, contourhttpproxy.Plugin(), "lifecycle") }
