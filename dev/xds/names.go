package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// The limits leave room for a busy machine: docs/xds/clients.md has what was measured.
const (
	firstWithin   = 2 * time.Second
	unknownWithin = 2 * time.Second
	createdWithin = 5 * time.Second
)

// resolve calls two Services (cases 1 and 51, and 62 with the bootstrap file that all clients
// have). The first one shows that calls go to all pods in turns; the second one how long the first
// call of a channel takes, in a process that has made calls before.
func resolve(ctx context.Context, st *stage) error {
	for _, s := range st.shops {
		if err := s.open(ctx, "", "", "", ""); err != nil {
			return err
		}
	}
	st.each(func(c *client) (result, error) {
		if err := inTurns(ctx, c, st.shops[0]); err != nil {
			return result{}, err
		}
		r, err := c.call(ctx, st.shops[1].host(), 1)
		out := result{cell: fmt.Sprintf("%d of %d (first %.0f ms)", r.Failed, r.Calls, r.FirstMS), details: errorsOf(r)}
		if r.Failed > 0 || r.FirstMS > float64(firstWithin.Milliseconds()) {
			out.problem = out.cell
		}
		return out, err
	})
	return nil
}

// inTurns calls until the calls reach all pods in turns.
func inTurns(ctx context.Context, c *client, s *shop) error {
	const rounds = 10
	var r caller.Reply
	err := clienttest.Await(ctx, deadline, "calls reach all pods in turns", func() bool {
		var err error
		r, err = c.call(ctx, s.host(), rounds*len(s.pods))
		if err != nil || r.Failed > 0 {
			return false
		}
		for _, pod := range s.names() {
			if n := r.By[pod]; n < rounds-1 || n > rounds+1 {
				return false
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%s: %w: %v %v", c.name, err, r.By, r.Errors)
	}
	return nil
}

// unknown calls a Service that doesn't exist, and again when it has been created (cases 6 and 7).
func unknown(ctx context.Context, st *stage) error {
	s := st.shops[0]
	outcomes := make([]result, len(st.clients))
	failed := each(st.clients, func(c *client) error {
		r, err := c.call(ctx, s.host(), 1)
		outcomes[st.indexOf(c)] = judgeUnknown(r)
		return err
	})
	for _, err := range failed {
		return err
	}
	if err := s.open(ctx, "", ""); err != nil {
		return err
	}
	created := time.Now()
	st.each(func(c *client) (result, error) {
		out := outcomes[st.indexOf(c)]
		err := succeeds(ctx, c, s)
		took := time.Since(created)
		out.cell += fmt.Sprintf("; created: OK after %.0f ms", float64(took.Milliseconds()))
		if took > createdWithin && out.problem == "" {
			out.problem = out.cell
		}
		return out, err
	})
	return nil
}

func judgeUnknown(r caller.Reply) result {
	out := result{cell: fmt.Sprintf("fails after %.0f ms", r.FirstMS), details: errorsOf(r)}
	switch {
	case r.Failed != 1:
		out.problem = "the call did not fail"
	case r.FirstMS > float64(unknownWithin.Milliseconds()):
		out.problem = out.cell
	default:
		for text := range r.Errors {
			// Envoy answers HTTP/1.1 with 503.
			if !strings.HasPrefix(text, "UNAVAILABLE: ") && !strings.HasPrefix(text, "503 ") {
				out.problem = text
			}
		}
	}
	return out
}

func (st *stage) indexOf(c *client) int {
	for i, other := range st.clients {
		if other == c {
			return i
		}
	}
	return -1
}

// zero scales a Service to zero and back (case 18). grpc-java keeps to the last endpoints until
// their connections end, so the pods end, as they do.
func zero(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, "", ""); err != nil {
		return err
	}
	failed := each(st.clients, func(c *client) error { return succeeds(ctx, c, s) })
	for _, err := range failed {
		return err
	}
	ended := s.pods
	s.pods = nil
	if err := s.write(ctx); err != nil {
		return err
	}
	scaled := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- stopAll(ctx, ended) }()
	outcomes := make([]result, len(st.clients))
	failed = each(st.clients, func(c *client) (err error) {
		outcomes[st.indexOf(c)], err = failsWithin(ctx, c, s, scaled)
		return err
	})
	if err := <-stopped; err != nil {
		return err
	}
	for _, err := range failed {
		return err
	}
	if err := s.start(ctx, ""); err != nil {
		return err
	}
	if err := s.write(ctx); err != nil {
		return err
	}
	scaled = time.Now()
	st.each(func(c *client) (result, error) {
		out := outcomes[st.indexOf(c)]
		err := succeeds(ctx, c, s)
		out.cell += fmt.Sprintf("; OK %.0f ms after scaling up", float64(time.Since(scaled).Milliseconds()))
		return out, err
	})
	return nil
}

func stopAll(ctx context.Context, pods []*backend) error {
	for _, b := range pods {
		if err := b.stop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// failsWithin calls until a call fails with UNAVAILABLE, and says how long that took.
func failsWithin(ctx context.Context, c *client, s *shop, since time.Time) (out result, err error) {
	err = clienttest.Await(ctx, deadline, "a call of "+c.name+" fails", func() bool {
		r, err := c.call(ctx, s.host(), 1)
		if err != nil || r.Failed == 0 {
			return false
		}
		out = judgeUnknown(r)
		out.details = nil
		return true
	})
	out.cell = fmt.Sprintf("fails %.0f ms after scaling down", float64(time.Since(since).Milliseconds()))
	return out, err
}
