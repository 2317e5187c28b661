package dnsinspect

import (
	"context"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns/publisher"
)

// idleTime is the time after the last query until the publishers are no longer followed.
const idleTime = 30 * time.Second

// changes follows the publishers while a client queries changes.
type changes struct {
	followers []*publisher.Follower
	idle      *time.Timer
}

// RecordChanges implements [inspect.RecordsOf].
func (r *Role) RecordChanges(ctx context.Context, limit int) (d inspect.Delta[inspect.Record], err error) {
	if err := r.mustLead(); err != nil {
		return d, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.changes
	reset := c.followers == nil // what has changed before is unknown
	if reset {
		if err := c.follow(ctx, r.publishers); err != nil {
			return d, r.asError(err)
		}
	}
	c.stopLater(r)
	for i, f := range c.followers {
		more, err := f.Next(ctx)
		if err != nil {
			// The state of the follower is lost.
			c.end()
			return inspect.Delta[inspect.Record]{}, r.asError(err)
		}
		reset = reset || more.Reset
		addChanges(&d, r.publishers[i].Name, more)
	}
	if reset || len(d.Changed)+len(d.Gone) > limit {
		return inspect.Delta[inspect.Record]{Reset: true}, nil
	}
	return d, nil
}

func (c *changes) follow(ctx context.Context, publishers []Publisher) error {
	for _, p := range publishers {
		f, err := p.Follow(ctx)
		if err != nil {
			c.end()
			return err
		}
		c.followers = append(c.followers, f)
	}
	return nil
}

func (c *changes) end() {
	for _, f := range c.followers {
		f.Close()
	}
	c.followers = nil
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

func addChanges(d *inspect.Delta[inspect.Record], name string, more publisher.Changes) {
	for _, row := range more.Rows {
		d.Changed = append(d.Changed, recordOf(name, row))
	}
	for _, key := range more.Gone {
		d.Gone = append(d.Gone, recordID(name, key))
		d.GoneNames = append(d.GoneNames, key.Name+" "+key.Type)
	}
}
