package claims

import (
	"context"
	"errors"

	"github.com/signpostd/signpost/dns"
)

// Store is where an [Owner] keeps its claims. It is called by one goroutine at a time.
type Store interface {
	// Read returns the claims of our owner, and of the old one if the store has it. Fresh is
	// false if the store doesn't want to read them again now, which it does after an error of
	// Write.
	Read(ctx context.Context) (claims map[dns.Key]*Claim, fresh bool, err error)
	// Write makes writes, and returns a result for each. What the store has already, it doesn't
	// write again.
	Write(ctx context.Context, writes []Write) []Result
}

// Write is one write to a [Store].
type Write struct {
	// Was is what the store has, as it was read or written last; nil is for nothing.
	Was *Claim
	// Claim is what it is to have; nil removes it. A store may remove a refuted claim, too.
	Claim *Claim
}

// Key returns the key of the claim.
func (w Write) Key() dns.Key {
	if w.Claim != nil {
		return w.Claim.Key
	}
	return w.Was.Key
}

// Result is what became of a [Write].
type Result struct {
	// Stored is what the store has now, as Read returns it; nil is for nothing.
	Stored *Claim
	// Err is why the claim wasn't written. After any error but [ErrTaken], nobody knows whether
	// it was.
	Err error
	// Later is why a part of the claim wasn't written that isn't needed to know whose the record
	// set is.
	Later error
}

// ErrTaken says that a claim can't be written because another owner has one of the record set.
var ErrTaken = errors.New("it belongs to another owner")
