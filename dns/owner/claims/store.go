package claims

import (
	"context"
	"errors"

	"github.com/signpostd/signpost/dns"
)

// Reading says whether a Store has to read the claims again.
type Reading int

const (
	// MayReuse allows a Store not to read claims again that it has read not long ago.
	MayReuse Reading = iota
	// ReadAgain has the claims read again.
	ReadAgain
)

// Store keeps the claims of an [Owner], which calls it from one goroutine at a time.
type Store interface {
	// Read returns the claims of our owner, and of the old one if the store has it. fresh is false if
	// the claims weren't read again, which isn't allowed with ReadAgain, nor after an error of Write with an
	// unknown outcome.
	Read(ctx context.Context, how Reading) (claims map[dns.Key]*Claim, fresh bool, err error)
	// Write executes writes, and returns a result for each. It skips claims that the store has
	// already.
	Write(ctx context.Context, writes []Write) []Result
}

// Write is one write to a [Store].
type Write struct {
	// Was is the stored claim, as it was last read or written; nil means none.
	Was *Claim
	// Claim is the claim to store; nil removes it. A store may remove a refuted claim too.
	Claim *Claim
}

// Key returns the key of the claim.
func (w Write) Key() dns.Key {
	if w.Claim != nil {
		return w.Claim.Key
	}
	return w.Was.Key
}

// Result is the result of a [Write].
type Result struct {
	// Stored is the stored claim afterwards, as Read would return it; nil means none.
	Stored *Claim
	// Err is why the claim wasn't written. After any error but [ErrTaken], [ErrRefused] and
	// provider.ErrThrottled, the outcome is unknown.
	Err error
	// Later is why a part of the claim wasn't written that isn't needed to decide about ownership.
	Later error
}

var (
	// ErrTaken is the error for a claim that another owner has.
	ErrTaken = errors.New("it belongs to another owner")
	// ErrRefused is the error for a claim that the store refuses because of the claim itself, or accepts no
	// more of. It says nothing about claims that exist.
	ErrRefused = errors.New("the registry refuses its entry")
)
