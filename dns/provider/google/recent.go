package google

import (
	"slices"
	"time"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
)

// lag is how long after a change a listing may still show what was there before
// (spec/clouds.md §3.9).
const lag = 10 * time.Second

// recent are the changes of a zone that a listing may not show yet.
type recent map[dns.Key]*written

// written is what a key has had, and what it has now; nil is for nothing.
type written struct {
	before []*dnsapi.ResourceRecordSet
	after  *dnsapi.ResourceRecordSet
	at     time.Time
}

// note adds a change that was made.
func (r recent) note(s swap, now time.Time) {
	w := r[s.key]
	if w == nil || now.Sub(w.at) > lag {
		w = &written{}
		r[s.key] = w
	}
	w.before, w.after, w.at = append(w.before, s.gone), s.new, now
}

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
func (r recent) correct(listing map[dns.Key]*dnsapi.ResourceRecordSet) {
	for key, w := range r {
		shown := listing[key]
		if sameRaw(shown, w.after) || !slices.ContainsFunc(w.before, func(b *dnsapi.ResourceRecordSet) bool { return sameRaw(b, shown) }) {
			continue
		}
		if w.after == nil {
			delete(listing, key)
		} else {
			listing[key] = w.after
		}
	}
}
