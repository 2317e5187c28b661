package contouringressroute_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source/contouringressroute"
	"github.com/signpostd/signpost/dns/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScenarios(t *testing.T) { sourcetest.Run(t, contouringressroute.Plugin()) }
