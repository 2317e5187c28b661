package publisher

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/plan"
)

// BenchmarkRows measures queries of a zone with 100,000 published names: how long visits block the
// loop, and how many visits a query takes.
func BenchmarkRows(b *testing.B) {
	for _, policy := range []plan.Policy{plan.Sync, plan.UpsertOnly} {
		p := largeZone(b, policy, 100_000)
		for _, query := range []struct {
			name   string
			filter RowFilter
			offset int
		}{
			{"first page", RowFilter{}, 0},
			{"last page", RowFilter{}, 99_500},
			{"conflicts", RowFilter{States: []RowState{RowConflict}}, 0},
			{"a name", RowFilter{Search: "n012345"}, 0},
			{"an address", RowFilter{Search: "10.0.48.57"}, 0},
			{"an object", RowFilter{Object: &dns.Object{Kind: "Service", Namespace: "default", Name: "n012345"}}, 0},
		} {
			b.Run(fmt.Sprintf("%s/%s", policy, query.name), func(b *testing.B) {
				b.ReportAllocs()
				loop := timeLoop(p)
				for b.Loop() {
					if _, err := p.Rows(context.Background(), query.filter, query.offset, 500); err != nil {
						b.Fatal(err)
					}
				}
				loop.report(b)
			})
		}
		b.Run(string(policy)+"/counts", func(b *testing.B) {
			b.ReportAllocs()
			loop := timeLoop(p)
			for b.Loop() {
				zones, _, err := p.ZoneRows(context.Background())
				if err != nil || zones[0].Rows[RowPublished] != 100_000 {
					b.Fatal(zones, err)
				}
			}
			loop.report(b)
		})
	}
}

// BenchmarkAllRows measures a list of all pages, as `signpost records` requests them. The time for a row must
// not grow with the number of rows.
func BenchmarkAllRows(b *testing.B) {
	const page = 500
	for _, names := range []int{10_000, 50_000, 200_000} {
		p := largeZone(b, plan.Sync, names)
		b.Run(fmt.Sprint(names), func(b *testing.B) {
			b.ReportAllocs()
			loop := timeLoop(p)
			for b.Loop() {
				for offset := 0; offset < names; offset += page {
					if got, err := p.Rows(context.Background(), RowFilter{}, offset, page); err != nil || len(got.Rows) != page {
						b.Fatal(len(got.Rows), err)
					}
				}
			}
			loop.report(b)
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*names), "µs/row")
		})
	}
}

// largeZone returns a publisher that leads, with a zone that has what objects ask for.
func largeZone(b *testing.B, policy plan.Policy, names int) *Publisher {
	w := newFixture(b)
	w.change = func(c *Config) { c.Rules.Policy = policy }
	p := w.make()
	p.term, p.sourcesEvaluated = &term{}, true
	var list []*dns.RecordSet
	for i := range names {
		name := fmt.Sprintf("n%06d", i)
		r := record(b, name, name+".shop.test", "A", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		p.Desired.Put(desired.Origin{Source: "service", Namespace: "default", Name: name}, []*dns.RecordSet{r})
		list = append(
			list,
			&dns.RecordSet{Name: r.Name, Type: "A", TTL: 300, Targets: r.Targets},
			&dns.RecordSet{
				Name: "own-a-" + r.Name, Type: "TXT", TTL: 300,
				Targets: []string{`"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/` + name + `"`},
			},
		)
	}
	p.setZones([]dns.Zone{{ID: zoneName, Name: zoneName}}, nil)
	z := p.zones.byKey[dns.ZoneKey{ID: zoneName, Name: zoneName}]
	z.mirror.begin()
	p.listedRecords(z, z.mirror.compare(list), z.unknownOutcomes, nil)
	p.planDirty(z)
	if n := len(z.names.all); n > 0 {
		b.Fatalf("%d names have something to do", n)
	}
	return p
}

// loopTime is a loop that does nothing but visits, and how long they take.
type loopTime struct {
	stop, ended chan struct{}
	took        []time.Duration
}

func timeLoop(p *Publisher) *loopTime {
	l := &loopTime{stop: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		for {
			select {
			case f := <-p.visits:
				begun := time.Now()
				f()
				l.took = append(l.took, time.Since(begun))
			case <-l.stop:
				return
			}
		}
	}()
	return l
}

func (l *loopTime) report(b *testing.B) {
	close(l.stop)
	<-l.ended
	slices.Sort(l.took)
	// If other programs use the processors, the longest visits include waiting for one.
	b.ReportMetric(l.took[len(l.took)/2].Seconds()*1000, "median-ms")
	b.ReportMetric(l.took[len(l.took)*99/100].Seconds()*1000, "p99-ms")
	b.ReportMetric(float64(len(l.took))/float64(b.N), "visits/op")
}
