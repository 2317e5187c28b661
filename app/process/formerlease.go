package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// formerLeaseEvery is how often the former Lease is read.
	formerLeaseEvery = 5 * time.Second
	// formerLeaseWait is how long a leader stands down for a leader of an earlier version.
	formerLeaseWait = 15 * time.Second
)

// errEarlierVersion is the cause of standing down during a rollback.
var errEarlierVersion = errors.New("a process of an earlier version of this Deployment leads")

// formerLease is the Lease of earlier versions of this Deployment. During a rollout or rollback
// their pods may still run, or run again: this process must not write then.
type formerLease struct {
	name string
	// host is the hostname of this process: the name of its pod.
	host string
	get  func(context.Context) (*coordinationv1.Lease, error)
	log  *slog.Logger
}

// podOfDeployment matches the name of a Deployment's pod. Its first group is the name of the
// Deployment.
var podOfDeployment = regexp.MustCompile(`^(.+)-[a-z0-9]{1,10}-[a-z0-9]{5}$`)

// deploymentOf returns the Deployment of a pod, by its name; empty if it has none.
func deploymentOf(host string) string {
	if parts := podOfDeployment.FindStringSubmatch(host); parts != nil {
		return parts[1]
	}
	return ""
}

// holder returns the process of this Deployment that holds the former Lease; empty if there is
// none.
func (f *formerLease) holder(ctx context.Context) (string, error) {
	lease, err := f.get(ctx)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// Without the right to read it, no earlier version is expected.
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the former Lease %s: %w", f.name, err)
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", nil
	}
	// Clocks differ, so the Lease counts for twice its duration.
	if time.Since(spec.RenewTime.Time) > 2*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return "", nil
	}
	host, _, _ := strings.Cut(*spec.HolderIdentity, "_")
	if ours := deploymentOf(f.host); ours == "" || deploymentOf(host) != ours {
		return "", nil
	}
	return *spec.HolderIdentity, nil
}

// free returns when no process of an earlier version leads, or when ctx ends.
func (f *formerLease) free(ctx context.Context) error {
	logged := false
	for {
		holder, err := f.holder(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && holder == "" {
			return nil
		}
		if !logged {
			logged = true
			f.log.Info("Waiting for a process of an earlier version of this Deployment, which leads by the former Lease", "lease", f.name, "leader", holder, "err", err)
		}
		if err := pause.For(ctx, formerLeaseEvery); err != nil {
			return err
		}
	}
}

// watch returns an error when a process of an earlier version leads again, as after a rollback.
func (f *formerLease) watch(ctx context.Context) error {
	for {
		if err := pause.For(ctx, formerLeaseEvery); err != nil {
			return nil
		}
		// If the Lease can't be read, no rollback is assumed.
		if holder, err := f.holder(ctx); err == nil && holder != "" {
			return &leader.StandDown{For: formerLeaseWait, Reason: fmt.Errorf("%w: %s, by the Lease %s", errEarlierVersion, holder, f.name)}
		}
	}
}
