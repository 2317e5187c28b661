package process

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// rotationInterval is the time between two checks of files with secrets. The kubelet writes a
	// changed Secret to its files within about a minute.
	rotationInterval = 10 * time.Second
	// rotationSpread is the maximum delay of the end after a change, so that replicas end one after
	// the other.
	rotationSpread = time.Minute
)

// rotation ends the process when a secret or the authorities of --tls-ca have changed in their file. In a pod, the kubelet starts the
// container again, with the new secret. Outside of a pod, rotation only logs a warning. Secrets with
// which the process couldn't start are logged, and the previous ones stay in use.
type rotation struct {
	publishers []*configure.Options
	log        *slog.Logger
	restarts   bool
	// interval and spread are rotationInterval and rotationSpread.
	interval, spread time.Duration
}

func newRotation(publishers []*configure.Options, log *slog.Logger) rotation {
	return rotation{publishers: publishers, log: log, restarts: thisPod() != dns.Object{}, interval: rotationInterval, spread: rotationSpread}
}

// run returns when the process should end.
func (r rotation) run(ctx context.Context) error {
	changed := r.await(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if !r.restarts {
		r.log.Warn("Secrets or authorities have changed in their files; restart this process to use them", "flags", strings.Join(changed, ", "))
		<-ctx.Done()
		return nil
	}
	delay := rand.N(r.spread)
	r.log.Info("Secrets or authorities have changed in their files; this process ends, and starts with the new ones", "flags", strings.Join(changed, ", "), "in", delay.Round(time.Second))
	_ = pause.For(ctx, delay)
	return nil
}

// await returns the flags of changed files, once all secrets in them can be used.
func (r rotation) await(ctx context.Context) []string {
	refused := ""
	for pause.For(ctx, r.interval) == nil {
		changed, err := r.changed(ctx)
		switch {
		case err == nil && len(changed) > 0:
			return changed
		case err == nil:
			refused = ""
		case err.Error() != refused && ctx.Err() == nil:
			refused = err.Error()
			r.log.Error("Secrets or authorities can't be used as they are in their files now: the previous ones stay in use", "flags", strings.Join(changed, ", "), "err", err)
		}
	}
	return nil
}

// changed returns the flags of changed files, and why the secrets in them can't be used.
func (r rotation) changed(ctx context.Context) (flags []string, err error) {
	var errs []error
	for _, p := range r.publishers {
		changed := p.ChangedSecrets()
		if len(changed) > 0 {
			errs = append(errs, p.CheckSecrets(ctx))
		}
		flags = append(flags, changed...)
	}
	return flags, errors.Join(errs...)
}
