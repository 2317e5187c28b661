package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/internal/pause"
)

// End ends a fault, and returns when the state is as before: a killed process was started again, but may not
// serve yet. It is called once.
type End func(context.Context) error

// Injector begins a fault and returns how to end it. An error means that the lab itself has failed.
// It is called from several goroutines at once.
type Injector func(context.Context, Fault) (End, error)

// Recorder records the faults, like [history.Recorder].
type Recorder interface {
	Record(history.Entry)
	Now() time.Duration
}

// endTimeout is the time limit for the end of a fault. If a process can't be started in this time, the lab
// has failed.
const endTimeout = time.Minute

// Run begins and ends faults at their times, counted from now. The beginning of a fault is recorded before
// the Injector begins it, and its end after the Injector has ended it. Run returns when all faults have
// ended. If ctx ends or the Injector fails, Run ends the active faults and begins no other. The returned
// error joins those of the Injector and the cause of ctx, if that ended the schedule early.
func Run(ctx context.Context, faults []Fault, inject Injector, recorder Recorder) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &play{inject, recorder, time.Now()}
	errs := make([]error, len(faults))
	var wg sync.WaitGroup
	for i, f := range faults {
		wg.Go(func() {
			if errs[i] = r.one(ctx, f); errs[i] != nil {
				cancel(errStopped)
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errStopped) {
		errs = append(errs, fmt.Errorf("play the faults: %w", cause))
	}
	return errors.Join(errs...)
}

// errStopped is why the other faults end when one has failed.
var errStopped = errors.New("another fault failed")

type play struct {
	inject   Injector
	recorder Recorder
	start    time.Time
}

// one begins and ends a fault. It begins nothing after the end of ctx, and always ends what it has begun.
func (r *play) one(ctx context.Context, f Fault) error {
	if !r.wait(ctx, f.At) {
		return nil
	}
	r.record(f, false)
	end, err := r.inject(ctx, f)
	if err != nil {
		return fmt.Errorf("begin fault %d, %s of %s: %w", f.ID, f.Kind, f.Target, err)
	}
	r.wait(ctx, f.Until)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := end(ending); err != nil {
		return fmt.Errorf("end fault %d, %s of %s: %w", f.ID, f.Kind, f.Target, err)
	}
	r.record(f, true)
	return nil
}

func (r *play) record(f Fault, ended bool) {
	r.recorder.Record(history.Entry{Fault: &history.Fault{ID: f.ID, Kind: string(f.Kind), Target: f.Target, Ended: ended, Detail: f.Detail()}})
}

// wait waits until a time since the start. It returns false if ctx ends before.
func (r *play) wait(ctx context.Context, until time.Duration) bool {
	return pause.For(ctx, until-time.Since(r.start)) == nil
}
