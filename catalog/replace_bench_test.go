package catalog

import (
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// BenchmarkForgetCluster removes a cluster of 50,000 pods in 1,000 Services from a catalog with another one
// of that size, and reports the longest wait of a reader.
func BenchmarkForgetCluster(b *testing.B) {
	var local, east []Object
	for i := range 1000 {
		for _, cluster := range []string{LocalCluster, "east"} {
			objects := []Object{service(fmt.Sprint("s", i))}
			s := slice(fmt.Sprint("s", i), fmt.Sprint("s", i), IPv4)
			for n := range 50 {
				name := fmt.Sprint("p", i, "-", n)
				w := pod(name, owned("ReplicaSet", fmt.Sprint("r", i)))
				w.IPs = []netip.Addr{netip.AddrFrom4([4]byte{10, byte(n), byte(i >> 8), byte(i)})}
				objects = append(objects, w)
				s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, SliceEndpoint{Addresses: w.IPs, Target: podKey(name)})
			}
			for _, v := range append(objects, s) {
				if cluster == LocalCluster {
					local = append(local, v)
				} else {
					east = append(east, inCluster(v, cluster))
				}
			}
		}
	}
	east = append(east, linked("east"))
	c := New(Options{})
	c.Replace(LocalCluster, local)
	c.step()
	var longest time.Duration
	for b.Loop() {
		b.StopTimer()
		c.Replace("east", east)
		c.step()
		b.StartTimer()
		c.Replace("east", nil)
		for begun := time.Now(); ; begun = time.Now() {
			c.step()
			longest = max(longest, time.Since(begun))
			if len(c.state.forgotten) == 0 {
				break
			}
		}
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest-step")
}
