package service

import (
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestScenarios(t *testing.T) { sourcetest.Run(t, Plugin()) }

// TestRealAPIServer runs the scenarios with a real API server, one after the other because nodes are
// cluster-scoped.
func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	for _, scenario := range []string{"loadbalancer", "headless", "nodeport"} {
		t.Run(scenario, func(t *testing.T) { sourcetest.RunReal(t, Plugin(), cluster, scenario) })
	}
}
