package service

import (
	"testing"

	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestScenarios(t *testing.T) { sourcetest.Run(t, Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, Plugin(), "loadbalancer", "headless", "nodeport")
}
