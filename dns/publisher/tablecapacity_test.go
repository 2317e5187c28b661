package publisher

import (
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// capacity is what a DynamoDB table may use: so much in a second, and what it didn't use in the last 5 minutes.
type capacity struct {
	perSecond, left float64
	at              time.Time
}

func newCapacity(perSecond float64) *capacity {
	return &capacity{perSecond: perSecond, left: 300 * perSecond, at: time.Now()}
}

// take uses capacity, or reports that too little is left.
func (c *capacity) take(units float64) bool {
	now := time.Now()
	c.left = min(300*c.perSecond, c.left+c.perSecond*now.Sub(c.at).Seconds())
	c.at = now
	if c.left < units {
		return false
	}
	c.left -= units
	return true
}

// A table of 20,000 items has the lowest capacity that fits it. Records are published as fast as the table can be
// written, because a throttled write isn't followed by readings of the whole table.
func TestTableOfLowCapacity(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		table := dynamodbtest.New(t)
		const page = 5000
		table.PageSize = page
		for i := range 4 * page {
			table.Put(fmt.Sprintf("n%d.example.org#A#", i), dynamodbtest.Row{Owner: "another"})
		}
		reads, writes, scans := newCapacity(5), newCapacity(1), 0
		table.Throttled = func(operation string) bool {
			if operation == "Scan" {
				const itemSize, unit = 160, 4096
				scans++
				return !reads.take(page * itemSize / unit)
			}
			return !writes.take(1)
		}
		me, err := inTable(table)("me", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.change = func(c *Config) { c.Owner = me }
		const names = 500
		w.ask(0, names, "192.0.2.1")
		w.start()
		// Each record is written twice.
		time.Sleep(2 * names * time.Second)
		w.expectSets(names)
		if most := 4 * 3; scans > most {
			t.Errorf("%d pages of the table were read, want at most %d", scans, most)
		}
	})
}
