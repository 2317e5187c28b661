package process

import (
	"slices"
	"testing"

	"github.com/signpostd/signpost/app/settings"
)

func TestDestinationWrites(t *testing.T) {
	tests := map[string]struct {
		change func(*settings.Config)
		want   bool
	}{
		"alone":                    {change: func(*settings.Config) {}, want: true},
		"switched off":             {change: func(c *settings.Config) { c.Destination.ExternalWorkloadWriter = false }},
		"without EndpointSlices":   {change: func(c *settings.Config) { c.Destination.EnableEndpointSlices = false }},
		"beside all controllers":   {change: func(c *settings.Config) { c.RunsControllers = true }},
		"beside other controllers": {change: func(c *settings.Config) { c.RunsControllers, c.Controllers.Controllers = true, []string{"endpoints"} }, want: true},
		"not there":                {change: func(c *settings.Config) { c.RunsDestination, c.RunsControllers = false, true }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := settings.Default()
			c.RunsDestination = true
			tt.change(&c)
			if got := c.DestinationWrites(); got != tt.want {
				t.Errorf("got %v", got)
			}
			withoutAPIServer(t, &c)
			names := registeredMetrics(t, c)
			if elects := slices.Contains(names, "leader_election_terms_total"); elects != (tt.want || c.RunsControllers) {
				t.Errorf("metrics of leader election: %v", elects)
			}
		})
	}
}
