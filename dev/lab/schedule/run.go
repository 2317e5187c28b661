package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// End ends a fault, and returns when the state is as before: a killed process was started again, but may not
// serve yet. It is called once.
type End func(context.Context) error

// Injector injects faults. Each method begins a fault of one group and returns how to end it. An error means
// that the lab itself has failed. Methods are called from several goroutines at once.
type Injector interface {
	// Replica begins Kill, Terminate and Pause.
	Replica(context.Context, Fault) (End, error)
	// Cluster begins APIServerKill, EtcdKill, EtcdCompact, EtcdRestore, EtcdFull and DropVersion, and
	// does EtcdCopy.
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
	r.record(f, false)
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
	r.record(f, true)
	return nil
}

func (r *play) record(f Fault, ended bool) {
	r.recorder.Record(history.Entry{Fault: &history.Fault{ID: f.ID, Kind: string(f.Kind), Target: f.Target, Ended: ended, Detail: f.Detail()}})
}

// wait waits until a time since the start. It returns false if ctx ends before.
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

// group returns the method for a kind, or nil.
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
