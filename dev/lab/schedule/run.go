package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// End ends a fault that an Injector has begun, and returns when things are as they were before: a process that was
// killed has been started, though it need not serve yet. It is called once.
type End func(context.Context) error

// Injector breaks things. Each method begins a fault of one group and returns how to end it. An error means that the
// lab itself has failed. Methods are called from several goroutines at once.
type Injector interface {
	// Replica begins Kill, Terminate and Pause.
	Replica(context.Context, Fault) (End, error)
	// Cluster begins APIServerKill, EtcdKill, EtcdCompact, EtcdRestore, EtcdFull and DropVersion, and does EtcdCopy.
	Cluster(context.Context, Fault) (End, error)
	// Link begins Delay, Slow, Cut and HalfOpen.
	Link(context.Context, Fault) (End, error)
	// API begins APIErrors and WithdrawRight.
	API(context.Context, Fault) (End, error)
	// DNS begins DNSDrop and ProviderStorm.
	DNS(context.Context, Fault) (End, error)
	// NameServer begins BINDPause and BINDRestart.
	NameServer(context.Context, Fault) (End, error)
	// Lease begins StealLease.
	Lease(context.Context, Fault) (End, error)
	// Certificates does RotateCertificates.
	Certificates(context.Context, Fault) (End, error)
	// Client begins SlowClient.
	Client(context.Context, Fault) (End, error)
}

// Recorder is where a run notes what it does; a *history.Recorder.
type Recorder interface {
	Record(history.Entry)
	Now() time.Duration
}

// endTimeout bounds the end of a fault: the lab has failed if a process can't be started in this time.
const endTimeout = time.Minute

// Run starts and ends faults at their times, counted from now. A fault is noted as begun before the Injector begins
// it, and as ended after the Injector has ended it. Run returns when all faults have ended. When ctx ends, or the
// Injector fails, Run ends the faults that are active and begins no other. The error has all that the
// Injector said, and why ctx ended if that cut the schedule short.
func Run(ctx context.Context, faults []Fault, injector Injector, recorder Recorder) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &play{injector: injector, recorder: recorder, start: time.Now()}
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
	injector Injector
	recorder Recorder
	start    time.Time
}

// one begins and ends a fault. It begins nothing after the end of ctx, and always ends what it has begun.
func (r *play) one(ctx context.Context, f Fault) error {
	if !r.wait(ctx, f.At) {
		return nil
	}
	begin := r.group(f.Kind)
	if begin == nil {
		return fmt.Errorf("begin fault %d: nobody knows the kind %q", f.ID, f.Kind)
	}
	r.note(f, false)
	end, err := begin(ctx, f)
	if err != nil {
		return fmt.Errorf("begin fault %d, %s of %s: %w", f.ID, f.Kind, f.Target, err)
	}
	r.wait(ctx, f.Until)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := end(ending); err != nil {
		return fmt.Errorf("end fault %d, %s of %s: %w", f.ID, f.Kind, f.Target, err)
	}
	r.note(f, true)
	return nil
}

func (r *play) note(f Fault, ended bool) {
	r.recorder.Record(history.Entry{Fault: &history.Fault{ID: f.ID, Kind: string(f.Kind), Target: f.Target, Ended: ended, Detail: f.Detail()}})
}

// wait returns at a time since the start, or false when ctx has ended before.
func (r *play) wait(ctx context.Context, until time.Duration) bool {
	timer := time.NewTimer(until - time.Since(r.start))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// group returns the method for a kind; nil if there is none.
func (r *play) group(k Kind) func(context.Context, Fault) (End, error) {
	switch k {
	case Kill, Terminate, Pause:
		return r.injector.Replica
	case APIServerKill, EtcdKill, EtcdCompact, EtcdCopy, EtcdRestore, EtcdFull, DropVersion:
		return r.injector.Cluster
	case Delay, Slow, Cut, HalfOpen:
		return r.injector.Link
	case APIErrors, WithdrawRight:
		return r.injector.API
	case DNSDrop, ProviderStorm:
		return r.injector.DNS
	case BINDPause, BINDRestart:
		return r.injector.NameServer
	case StealLease:
		return r.injector.Lease
	case RotateCertificates:
		return r.injector.Certificates
	case SlowClient:
		return r.injector.Client
	}
	return nil
}
