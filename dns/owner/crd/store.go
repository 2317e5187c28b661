package crd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/internal/sanitize"
)

// store is a [claims.Store] of DNSRecords.
type store struct {
	client    client
	owners    []string
	namespace string
	log       *slog.Logger
	now       func() time.Time
	// live has the last written objects of changes that are underway, so that the next write doesn't
	// have to read them.
	live map[dns.Key]*externaldns.DNSRecord
	// problems are the errors of objects that can't be read.
	problems map[string]string
	// refresh is the age at which the objects are read again, and readAt when they were read; zero means that
	// they must be read again.
	refresh time.Duration
	readAt  time.Time
}

var _ claims.Store = (*store)(nil)

// Read implements [claims.Store]. It reads the objects the first time, with ReadAgain, after any failure, and when
// they are older than [Options].Refresh: the zones that are listed at about the same time share a reading. If two
// objects have the same record set, the one with the usual name counts.
func (s *store) Read(ctx context.Context, how claims.Reading) (read map[dns.Key]*claims.Claim, fresh bool, err error) {
	if how == claims.MayReuse && !s.readAt.IsZero() && s.now().Sub(s.readAt) < s.refresh {
		return nil, false, nil
	}
	begun := s.now()
	read, problems := map[dns.Key]*claims.Claim{}, map[string]string{}
	err = s.client.list(ctx, s.owners, func(object *externaldns.DNSRecord) {
		if problem := cmp.Or(object.Spec.Problem, object.Spec.Endpoint.Problem, object.Status.Problem); problem != "" {
			problems[object.Name] = problem
			return
		}
		c := claimOf(object)
		if other := read[c.Key]; other == nil || better(c, other) {
			read[c.Key] = c
		}
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the DNSRecords in namespace %s: %w", s.namespace, err)
	}
	for name, problem := range problems {
		if s.problems[name] != problem {
			s.log.Error("Can't read a DNSRecord; its record counts as not owned", "namespace", s.namespace, "name", name, "err", problem)
		}
	}
	s.problems, s.readAt = problems, begun
	return read, true, nil
}

// better reports whether a claim takes precedence over another one of the same record set.
func better(c, other *claims.Claim) bool {
	usual, name, otherName := ObjectName(c.Key), nameOf(c), nameOf(other)
	return name == usual || otherName != usual && name < otherName
}

// Write implements [claims.Store].
func (s *store) Write(ctx context.Context, writes []claims.Write) []claims.Result {
	results := make([]claims.Result, len(writes))
	objects := make([]*externaldns.DNSRecord, len(writes))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, w := range writes {
		group.Go(func() error {
			if w.Claim == nil {
				results[i].Err = s.remove(ctx, w.Was)
			} else {
				objects[i], results[i] = s.write(ctx, w)
			}
			return nil
		})
	}
	// Errors are in the results.
	_ = group.Wait()
	for i, w := range writes {
		if object := objects[i]; object != nil && w.Claim.Progress == claims.Underway {
			s.live[w.Key()] = object
		} else {
			delete(s.live, w.Key())
		}
		if results[i].Err != nil || results[i].Later != nil {
			s.readAt = time.Time{}
		}
	}
	return results
}

// write writes the object of a claim, then its status. It returns the object afterwards.
func (s *store) write(ctx context.Context, w claims.Write) (*externaldns.DNSRecord, claims.Result) {
	object, err := s.client.put(ctx, put{was: w.Was, live: s.live[w.Key()], claim: w.Claim, owners: s.owners})
	if refused(err) {
		return nil, claims.Result{Err: fmt.Errorf("%w: write DNSRecord %s/%s: %s", claims.ErrRefused, s.namespace, objectName(w), sanitize.Shorten(err.Error(), maxMessage))}
	}
	if err != nil {
		return nil, claims.Result{Err: fmt.Errorf("write DNSRecord %s/%s: %w", s.namespace, objectName(w), err)}
	}
	made, err := s.client.setStatus(ctx, object, func(live *externaldns.DNSRecord) bool { return setReady(live, w.Claim, s.now()) })
	if err != nil {
		// ExternalDNS only logs this too.
		return object, claims.Result{Stored: claimOf(object), Later: fmt.Errorf("write the status of DNSRecord %s/%s: %w", s.namespace, object.Name, err)}
	}
	return made, claims.Result{Stored: claimOf(made)}
}

func (s *store) remove(ctx context.Context, c *claims.Claim) error {
	h := c.Handle.(handle)
	if err := s.client.remove(ctx, h.name, h.uid); err != nil {
		return fmt.Errorf("delete DNSRecord %s/%s: %w", s.namespace, h.name, err)
	}
	return nil
}

// objectName returns the name of the object of a write. An object that a user has created under
// another name keeps it.
func objectName(w claims.Write) string {
	if w.Was != nil {
		return nameOf(w.Was)
	}
	return ObjectName(w.Key())
}

// atOnce limits the parallel requests.
const atOnce = 8
