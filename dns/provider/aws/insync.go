package aws

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// syncTime is the time after which most changes are on all servers (Developer Guide, "How long does it take for
	// changes to propagate"), and syncPause the time between two requests for their status after that.
	syncTime  = 30 * time.Second
	syncPause = 15 * time.Second
	// mostPending is how many requests of a zone are remembered.
	mostPending = 1000
)

// change makes changes in the zone, all or none.
func (z *hostedZone) change(ctx context.Context, changes []types.Change) error {
	id, err := z.account.change(ctx, z.ID, changes)
	if err != nil || id == "" {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.pending = append(z.pending, id)
	z.pending = z.pending[max(0, len(z.pending)-mostPending):]
	return nil
}

// takePending returns the requests that not all servers may have yet, and forgets them.
func (z *hostedZone) takePending() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	pending := z.pending
	z.pending = nil
	return pending
}

// Confirm implements [provider.Confirmer]. It waits until all requests have the status INSYNC, which mostly takes one
// GetChange for each.
func (p *route53Provider) Confirm(ctx context.Context, zone dns.Zone) error {
	_, z, err := p.find(ctx, zone)
	if err != nil {
		return err
	}
	delay := syncTime
	for _, id := range z.takePending() {
		for {
			if err := pause.For(ctx, delay); err != nil {
				return fmt.Errorf("wait until the servers of zone %s have a change: %w", z.Name, err)
			}
			synced, err := z.account.inSync(ctx, id)
			if err != nil {
				return fmt.Errorf("ask whether the servers of zone %s have a change: %w", z.Name, err)
			}
			if synced {
				// The next request was made at about the same time.
				delay = 0
				break
			}
			delay = syncPause
		}
	}
	return nil
}
