package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// errUnknownOutcome means that a change may have been made or not.
var errUnknownOutcome = errors.New("it isn't known whether the change was made")

// maxSends limits the attempts of a change whose responses are lost.
const maxSends = 2

// step is one change, made with one request.
type step struct {
	zone      *azureZone
	change    dns.Change
	key       key
	ownership bool
	// before is the record set at Azure, and after the one to store; one of them may be nil. After run, after
	// has its new ETag.
	before, after *stored
	made          bool
	err           error
}

func newStep(z *azureZone, c dns.Change) (*step, error) {
	s := &step{zone: z, change: c, ownership: c.RecordSet().IsOwnershipRecord() && c.RecordSet().Type == dns.TypeTXT, key: z.keyOf(c.RecordSet())}
	if c.New == nil {
		return s, nil
	}
	var err error
	if s.after, err = z.wire(c.New); err != nil {
		return s, rejected(c.New, err)
	}
	return s, nil
}

// prepare reads the record set at Azure.
func (s *step) prepare(ctx context.Context) (err error) {
	if s.change.Old == nil {
		return nil
	}
	if s.before, err = s.zone.current(ctx, s.change.Old); err != nil || s.after == nil {
		return err
	}
	// Records that stay are sent as they are stored, because their listed form has no capitals and quotes.
	for i, v := range s.after.records {
		for _, old := range s.before.records {
			if s.before.resource == "" && listedRecord(s.key.recordType, v) == listedRecord(s.key.recordType, old) {
				s.after.records[i] = old
			}
		}
	}
	return nil
}

// run makes the change.
func (s *step) run(ctx context.Context) error {
	after, err := s.swap(ctx, s.before, s.after)
	if err != nil {
		return s.failed(err)
	}
	s.made, s.after = true, after
	return nil
}

// undo restores the record set from before the step.
func (s *step) undo(ctx context.Context) error {
	if _, err := s.swap(ctx, s.after, s.before); err != nil {
		return s.failed(err)
	}
	s.made = false
	return nil
}

func (s *step) failed(err error) error {
	if errors.Is(err, provider.ErrStale) {
		s.zone.markUncertain(s.key)
	}
	r := s.change.RecordSet()
	return fmt.Errorf("%s %s: %w", r.Name, r.Type, err)
}

// swap replaces a record set. If the response is lost, it reads the record set, and sends the change once
// more if it wasn't made.
func (s *step) swap(ctx context.Context, before, after *stored) (now *stored, err error) {
	for range maxSends {
		now, err = s.send(ctx, before, after)
		if err == nil {
			s.zone.note(s.key, before, now)
			return now, nil
		}
		if provider.NothingMade(err) {
			return nil, err
		}
		there, verifyErr := s.zone.account.get(ctx, s.zone.name, s.key)
		switch {
		case verifyErr != nil:
			s.zone.markUncertain(s.key)
			// verifyErr isn't wrapped, because its class says nothing about the change.
			return nil, fmt.Errorf("%w: %v, and then %v", errUnknownOutcome, err, verifyErr)
		case sameETag(there, before):
			// The change wasn't made, so send it again.
		case there == nil && after == nil, there != nil && after != nil && s.zone.sameContent(there, after):
			s.zone.note(s.key, before, there)
			return there, nil
		default:
			return nil, fmt.Errorf("%w: %w", provider.ErrStale, err)
		}
	}
	return nil, err
}

// send sends the change once.
func (s *step) send(ctx context.Context, before, after *stored) (*stored, error) {
	etag := ""
	if before != nil {
		// Each record set has an ETag. If it is unknown, any existing record set is accepted.
		etag = cmp.Or(before.etag, "*")
	}
	if after == nil {
		return nil, s.zone.account.remove(ctx, s.zone.name, s.key, etag)
	}
	return s.zone.account.put(ctx, s.zone.name, after, etag)
}

// sameETag reports whether two record sets are the same version of one; nil means none.
func sameETag(a, b *stored) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.etag == b.etag
}
