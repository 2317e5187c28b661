package dnsinspect

import (
	"context"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns/publisher"
)

const (
	// idleTime is the time after the last query until the publishers are no longer followed.
	idleTime = 30 * time.Second
	// maxLog limits the changes that are kept for clients with an older mark.
	maxLog = 2000
)

// changes follows the publishers while clients query changes.
type changes struct {
	followers []*publisher.Follower
	idle      *time.Timer
	// log has the last changes with their numbers, and mark is the number of the last one. A query
	// from before floor gets Reset.
	log         []change
	mark, floor uint64
}

// change is a changed or deleted record.
type change struct {
	number uint64
	id     string
	// name is the readable name of the record.
	name   string
	record *inspect.Record
}

// RecordChanges implements [inspect.RecordsOf].
func (r *Role) RecordChanges(ctx context.Context, since uint64, limit int) (inspect.Delta[inspect.Record], uint64, error) {
	if err := r.mustLead(); err != nil {
		return inspect.Delta[inspect.Record]{}, 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.changes
	if c.followers == nil {
		if err := c.follow(ctx, r.publishers); err != nil {
			return inspect.Delta[inspect.Record]{}, 0, r.asError(err)
		}
	}
	c.stopLater(r)
	for i, f := range c.followers {
		more, err := f.Next(ctx)
		if err != nil {
			// The state of the follower is lost.
			c.end()
			return inspect.Delta[inspect.Record]{}, 0, r.asError(err)
		}
		c.add(r.publishers[i].Name, more)
	}
	return c.since(since, limit), c.mark, nil
}

// follow starts to follow. Earlier marks become invalid.
func (c *changes) follow(ctx context.Context, publishers []Publisher) error {
	for _, p := range publishers {
		f, err := p.Follow(ctx)
		if err != nil {
			c.end()
			return err
		}
		c.followers = append(c.followers, f)
	}
	c.reset()
	return nil
}

func (c *changes) reset() {
	c.mark++
	c.log, c.floor = nil, c.mark
}

func (c *changes) end() {
	for _, f := range c.followers {
		f.Close()
	}
	c.followers = nil
	c.reset()
}

// stopLater stops following after idleTime without a query.
func (c *changes) stopLater(r *Role) {
	if c.idle != nil {
		c.idle.Stop()
	}
	c.idle = time.AfterFunc(idleTime, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		c.end()
	})
}

func (c *changes) add(name string, more publisher.Changes) {
	if more.Reset {
		c.reset()
		return
	}
	for _, row := range more.Rows {
		record := recordOf(name, row)
		c.mark++
		c.log = append(c.log, change{c.mark, record.ID, record.Name + " " + record.Type, &record})
	}
	for _, key := range more.Gone {
		c.mark++
		c.log = append(c.log, change{c.mark, recordID(name, key), key.Name + " " + key.Type, nil})
	}
	if extra := len(c.log) - maxLog; extra > 0 {
		c.floor = c.log[extra-1].number
		c.log = append([]change{}, c.log[extra:]...)
	}
}

// since returns the changes after a mark, for each record the last one.
func (c *changes) since(mark uint64, limit int) inspect.Delta[inspect.Record] {
	var d inspect.Delta[inspect.Record]
	if mark == 0 {
		return d
	}
	if mark < c.floor {
		d.Reset = true
		return d
	}
	seen := map[string]bool{}
	for i := len(c.log) - 1; i >= 0 && c.log[i].number > mark; i-- {
		one := c.log[i]
		switch {
		case seen[one.id]:
		case one.record == nil:
			d.Gone = append(d.Gone, one.id)
			d.GoneNames = append(d.GoneNames, one.name)
		default:
			d.Changed = append(d.Changed, *one.record)
		}
		seen[one.id] = true
	}
	if len(d.Changed)+len(d.Gone) > limit {
		return inspect.Delta[inspect.Record]{Reset: true}
	}
	return d
}
