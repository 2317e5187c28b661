package externalworkload_test

import (
	"testing"

	"github.com/signpostd/signpost/dns/source/externalworkload"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "../../../deploy/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, externalworkload.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, externalworkload.Plugin(), "real") }
