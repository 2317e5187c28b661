package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/kube"
)

// upToDateSoon is the usual time until the tables of a new leader are up to date. A longer time is
// logged.
const upToDateSoon = 5 * time.Second

// upToDateLimit is the minimum of the time limit, for shorter Leases. After the limit another
// process gets the chance.
const upToDateLimit = 10 * time.Second

// containSoon is how long tables may take to contain what the former leader had. Watches deliver it
// within milliseconds.
const containSoon = 500 * time.Millisecond

// upToDate is work under a Lease that begins when the tables contain everything that the API server
// had when this process became the leader. Each kind has its own watch. So a process that was
// paused, or whose watches had broken, may see what the former leader has written, but not yet why,
// and would undo it.
type upToDate struct {
	lead   func(context.Context) error
	tables []kube.AnyTable
	// limit is how long that may take; zero means no limit.
	limit time.Duration
	log   *slog.Logger
	// handedOver returns the resource versions that the former leader left when it stopped. handOver
	// leaves those of this process. Both may be nil.
	handedOver func() string
	handOver   func(string)
}

// run works for one term. If the tables aren't up to date in time, it returns a [leader.StandDown].
// If the resource version of the API server goes back, the work is restarted, because earlier reads
// and writes belong to a lost history.
func (u *upToDate) run(ctx context.Context) error {
	for {
		rewound, err := u.untilRewound(ctx, u.leadUpToDate)
		if !rewound {
			return err
		}
		u.handedOver = nil // It may be of the history that is gone, as later ones may be.
	}
}

// runAtOnce is run without an election, where there is no former leader to catch up with.
func (u *upToDate) runAtOnce(ctx context.Context) error {
	if rewound, err := u.untilRewound(ctx, u.lead); !rewound {
		return err
	}
	return u.run(ctx)
}

// untilRewound works until the resource version of the API server goes back, and reports whether
// that was the end.
func (u *upToDate) untilRewound(ctx context.Context, work func(context.Context) error) (rewound bool, err error) {
	until, cancel := kube.UntilRewound(ctx, u.tables...)
	defer cancel()
	err = work(until)
	return until.Err() != nil && ctx.Err() == nil, err
}

// leadUpToDate works when the tables are up to date.
func (u *upToDate) leadUpToDate(ctx context.Context) error {
	err := u.catchUp(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return &leader.StandDown{For: u.limit, Reason: fmt.Errorf("the tables were not up to date within %v: %w", u.limit, err)}
	}
	err = u.lead(ctx)
	u.leave()
	return err
}

// leave leaves the resource versions of the tables for the next leader. All writes of this process
// are based on them.
func (u *upToDate) leave() {
	if u.handOver == nil {
		return
	}
	if text, err := json.Marshal(kube.Versions(u.tables...)); err == nil {
		u.handOver(string(text))
	}
}

// contains reports whether the tables contain everything that those of the former leader had when
// it left. This process then undoes nothing of the former leader. Its last writes may still be
// unknown, but a write based on an older version of a slice is refused.
func (u *upToDate) contains(ctx context.Context) bool {
	if u.handedOver == nil {
		return false
	}
	var versions map[string]string
	if json.Unmarshal([]byte(u.handedOver()), &versions) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, containSoon)
	defer cancel()
	return kube.Contain(ctx, versions, u.tables...)
}

// catchUp returns when the tables are up to date.
func (u *upToDate) catchUp(ctx context.Context) error {
	if u.contains(ctx) {
		return nil
	}
	begun := time.Now()
	bounded, cancel := ctx, func() {}
	if u.limit > 0 {
		bounded, cancel = context.WithTimeout(ctx, u.limit)
	}
	defer cancel()
	err := kube.CatchUp(bounded, u.tables...)
	if took := time.Since(begun); err == nil && took > upToDateSoon {
		u.log.Info("The caches are up to date; the leader's work starts", "took", took)
	}
	return err
}
