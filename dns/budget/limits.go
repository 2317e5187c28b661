package budget

import (
	"errors"
	"fmt"
	"time"
)

// ApprovalTime is how long an approval is valid for changes that can't be made at once.
const ApprovalTime = 6 * time.Hour

// Limits are the losses of a zone within a window that need no approval.
type Limits struct {
	Deletions Limit
	// SettingsUpdates limits the updates of the first plan after a change of the settings,
	// ObjectUpdates those that changes of objects cause.
	SettingsUpdates, ObjectUpdates Limit
	Window                         time.Duration
}

// Limit is a number of record sets of a zone, or a percentage of our record sets if that is more.
// 100 percent means no limit.
type Limit struct{ Records, Percent int }

// DefaultLimits returns the limits that apply without flags.
func DefaultLimits() Limits {
	return Limits{
		Deletions: Limit{Records: 10, Percent: 20}, SettingsUpdates: Limit{Records: 10, Percent: 20},
		ObjectUpdates: Limit{Percent: 100}, Window: 10 * time.Minute,
	}
}

// Check returns an error if a limit is invalid.
func (l Limits) Check() error {
	var errs []error
	for kind, limit := range map[string]Limit{"deletions": l.Deletions, "updates by settings": l.SettingsUpdates, "updates by objects": l.ObjectUpdates} {
		if limit.Records < 0 || limit.Percent < 0 || limit.Percent > 100 {
			errs = append(errs, fmt.Errorf("limit of %s: %d records or %d %%: the number must not be negative, and the percentage must be from 0 to 100", kind, limit.Records, limit.Percent))
		}
	}
	if l.Window <= 0 {
		errs = append(errs, fmt.Errorf("window of %v: must be more than 0s", l.Window))
	}
	return errors.Join(errs...)
}

func (l Limits) of(k Kind) Limit {
	return [kinds]Limit{l.Deletions, l.SettingsUpdates, l.ObjectUpdates}[k]
}

// limits reports whether there is a limit at all.
func (l Limit) limits() bool { return l.Percent < 100 }

// allows reports whether a number of changes is within the limit.
func (l Limit) allows(changes, owned int) bool {
	return !l.limits() || changes <= l.max(owned)
}

// max is how many changes are within the limit.
func (l Limit) max(owned int) int { return max(l.Records, owned*l.Percent/100) }

// maxSpendings is how many spendings of one kind are told apart in a window.
const maxSpendings = 64

// spending is a number of changes that were made at one time.
type spending struct {
	at    time.Time
	count int
}

// spendings are those of a window, oldest first.
type spendings []spending

// add records changes. Times are whole milliseconds, as they are stored. At most maxSpendings are
// kept: the two oldest are merged under the later time, so that budget is never released early.
func (s spendings) add(now time.Time, count int) spendings {
	now = now.Add(time.Millisecond - 1).Truncate(time.Millisecond)
	if n := len(s); n > 0 && !s[n-1].at.Before(now) {
		s[n-1].count += count
		return s
	}
	s = append(s, spending{now, count})
	if len(s) > maxSpendings {
		s[1].count += s[0].count
		s = s[1:]
	}
	return s
}

// within returns the spendings of the window that ends now, and their sum.
func (s spendings) within(now time.Time, window time.Duration) (spendings, int) {
	for len(s) > 0 && now.Sub(s[0].at) >= window {
		s = s[1:]
	}
	sum := 0
	for _, one := range s {
		sum += one.count
	}
	return s, sum
}
