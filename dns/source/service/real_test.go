package service

import (
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestScenarios(t *testing.T) { sourcetest.Run(t, Plugin()) }

// The same objects and the same records with a real API server. One after the other: nodes
// belong to the whole cluster.
func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	for _, scenario := range []string{"loadbalancer", "headless", "nodeport"} {
		t.Run(scenario, func(t *testing.T) { sourcetest.RunReal(t, Plugin(), cluster, scenario) })
	}
}
