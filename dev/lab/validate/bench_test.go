package validate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// bigRun returns a history of 100 streams on ten Services with 30 pods each. Pods become ready and unready,
// and are replaced. Three quarters of the entries are updates.
func bigRun(entries int) history.History {
	const services, pods, streamsEach = 10, 30, 10
	m, random := newMade(), rand.New(rand.NewPCG(1, 2))
	type service struct {
		name    string
		pods    []string
		clients []*client
	}
	var all []*service
	count := 0
	ip := func(pod string) string {
		var n int
		fmt.Sscanf(pod, "p%d", &n)
		return fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255)
	}
	create := func(s *service) {
		count++
		s.pods = append(s.pods, fmt.Sprint("p", count))
		m.pod(s.pods[len(s.pods)-1])
	}
	write := func(s *service, unready int) {
		var list []string
		for i, p := range s.pods {
			if i == unready {
				p += "!"
			}
			list = append(list, p+"="+ip(s.pods[i]))
		}
		m.slice(s.name+"-1", s.name, list...)
	}
	for i := range services {
		s := &service{name: fmt.Sprint("web-", i)}
		all = append(all, s)
		m.service(s.name)
		for range pods {
			create(s)
		}
		write(s, -1)
		m.pass(time.Second)
		for range streamsEach {
			c := m.openTo(fmt.Sprint("replica-", len(s.clients)%2), "Get", s.name+".lab.svc.cluster.local:80")
			c.service = s.name
			var added []string
			for _, p := range s.pods {
				added = append(added, p+"="+ip(p)+":8080")
			}
			c.adds(added...)
			s.clients = append(s.clients, c)
		}
	}
	for len(m.Entries) < entries {
		m.pass(10 * time.Millisecond)
		s := all[random.IntN(services)]
		if random.IntN(2) == 0 {
			i := random.IntN(pods)
			write(s, i)
			for _, c := range s.clients {
				c.removes(ip(s.pods[i]) + ":8080")
			}
			write(s, -1)
			for _, c := range s.clients {
				c.adds(s.pods[i] + "=" + ip(s.pods[i]) + ":8080")
			}
			continue
		}
		old := s.pods[0]
		s.pods = s.pods[1:]
		create(s)
		m.remove("pods", old)
		write(s, -1)
		for _, c := range s.clients {
			c.adds(s.pods[pods-1] + "=" + ip(s.pods[pods-1]) + ":8080")
			c.removes(ip(old) + ":8080")
		}
	}
	m.calm()
	return m.History
}

// BenchmarkStreams runs all four validators on a long run.
func BenchmarkStreams(b *testing.B) {
	b.Run("quiet", func(b *testing.B) { benchmark(b, bigRun(200_000)) })
	// While a fault is active, a response may be of any age, so more states must be searched.
	b.Run("broken", func(b *testing.B) { benchmark(b, broken(bigRun(200_000))) })
}

// broken adds a fault that begins with the run and ends with the calm.
func broken(h history.History) history.History {
	fault := history.Entry{Fault: &history.Fault{ID: 1, Kind: "api-errors", Target: "kube-apiserver"}}
	h.Entries = append([]history.Entry{fault}, h.Entries...)
	return h
}

func benchmark(b *testing.B, h history.History) {
	b.ReportAllocs()
	b.ReportMetric(float64(len(h.Entries)), "entries")
	for b.Loop() {
		if count, text := objections(h); len(count) > 0 {
			b.Fatalf("objections:\n%.2000s", text)
		}
	}
}

// TestBigRun shows that the validators find nothing in the history of the benchmark.
func TestBigRun(t *testing.T) {
	for _, h := range []history.History{bigRun(5_000), broken(bigRun(5_000))} {
		if count, text := objections(h); len(count) > 0 {
			t.Errorf("objections:\n%.2000s", text)
		}
	}
}
