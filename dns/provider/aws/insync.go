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
	// syncTime is the time after which most changes are on all name servers (Developer Guide, "How long does
	// it take for changes to propagate"), and syncPause the pause between later checks.
	syncTime  = 30 * time.Second
	syncPause = 15 * time.Second
	// maxPending limits the remembered requests of a zone.
	maxPending = 1000
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
	z.pending = z.pending[max(0, len(z.pending)-maxPending):]
	return nil
}

// takePending returns and forgets the requests that some name servers may lack.
func (z *hostedZone) takePending() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	pending := z.pending
	z.pending = nil
	return pending
}

// Confirm implements [provider.Confirmer]. It waits until all requests have the status INSYNC, which mostly
// takes one GetChange per request.
func (p *route53Provider) Confirm(ctx context.Context, zone dns.Zone) error {
	_, z, err := p.Find(ctx, zone)
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
				// The next request was sent at about the same time, so check it at once.
				delay = 0
				break
			}
			delay = syncPause
		}
	}
	return nil
}
