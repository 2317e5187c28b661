package streams

import (
	"github.com/signpostd/signpost/dev/bench/measure"
)

// Benches returns the benches of streams of the Destination API, and of what a history and an open page cost them.
func Benches() []measure.Bench {
	return []measure.Bench{
		{
			Name: "fanout", Shows: "CPU, memory and latency of updates to 1,000 and 5,000 streams of Get",
			Must: "CPU ≤ 1.2 × and p99 ≤ 1.3 × of the floor, ≤ 11.5 kB a stream", Run: measureFanout,
		},
		{
			Name: "stall", Shows: "what streams that don't read cost the others and the server", Run: measureStall,
			Halves: []measure.Half{
				{Name: "some", Shows: "1 and 100 of 1,000 streams don't read", Must: "p99 of the others + 2 ms or 5 %, ≤ 256 kB a stream"},
				{Name: "all", Shows: "all but one don't read", Must: "memory + 64 MiB, exact within 5 s"},
			},
		},
		{
			Name: "rollout", Shows: "250 endpoints are replaced within 10 s, under 2,000 streams",
			Must: "no endpoint is missing, last update ≤ 500 ms", Run: measureRollout,
		},
		{
			Name: "profiles", Shows: "2,000 GetProfile streams within a second, five times",
			Must: "CPU ≤ 2 × of the floor, p99 of updates ≤ 1.2 ×", Run: measureProfiles,
		},
		{Name: "proxies", Shows: "10,000 idle proxies that open their streams again in five minutes", Run: measureProxies},
		{
			Name: "inspect", Shows: "the inspection API and an open page beside 10,000 streams",
			Must: "lists ≤ 200 ms, p99 of updates ≤ 1.3 ×", Run: measureInspect,
		},
		{Name: "history", Shows: "what a history costs the fan-out", Must: "CPU per update ≤ 1.02 ×", Run: measureHistory},
	}
}
