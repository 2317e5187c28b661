package aws

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
)

// lag is how long after a change a listing may still show what was there before
// (spec/clouds.md §1.9).
const lag = 10 * time.Second

// recent are the changes of a zone that a listing may not show yet.
type recent map[dns.Key]*written

// written is what a key has had, and what it has now; nil is for nothing.
type written struct {
	before []*types.ResourceRecordSet
	after  *types.ResourceRecordSet
	at     time.Time
}

// note adds a change that was made.
func (r recent) note(key dns.Key, before, after *types.ResourceRecordSet, now time.Time) {
	w := r[key]
	if w == nil || now.Sub(w.at) > lag {
		w = &written{}
		r[key] = w
	}
	w.before, w.after, w.at = append(w.before, before), after, now
}

// forget drops the changes of a key, because somebody else has changed it since.
func (r recent) forget(key dns.Key) { delete(r, key) }

// expire drops what every listing that begins now shows.
func (r recent) expire(now time.Time) {
	for key, w := range r {
		if now.Sub(w.at) > lag {
			delete(r, key)
		}
	}
}

// correct replaces in a listing what it shows of the time before a change. If it shows something
// that was never there before, somebody else has made that, and it stays.
func (r recent) correct(listing map[dns.Key]*types.ResourceRecordSet) {
	for key, w := range r {
		shown := listing[key]
		if sameRaw(shown, w.after) || !slices.ContainsFunc(w.before, func(b *types.ResourceRecordSet) bool { return sameRaw(b, shown) }) {
			continue
		}
		if w.after == nil {
			delete(listing, key)
		} else {
			listing[key] = w.after
		}
	}
}
