package awssd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	// maxReaders limits the services that are read in parallel.
	maxReaders = 16
	// lag is how long a listing may lag behind a change.
	lag = 15 * time.Second
	// pauseRevisions is how long revisions aren't requested after a failure, and forbiddenRevisions after a
	// missing permission.
	pauseRevisions, forbiddenRevisions = time.Minute, time.Hour
)

// read returns the record sets of a namespace. It lists the instances of a service only if its revision has
// changed.
func (p *cloudMap) read(ctx context.Context, n *namespace) (sets []*dns.RecordSet, err error) {
	l := p.account.budget.Zone(n.Zone)
	defer func() { l.End(err) }()
	services, err := p.account.services(ctx, n.Zone, l)
	if err != nil {
		return nil, err
	}
	if services, err = p.addUnlisted(ctx, n, n.note(services)); err != nil {
		return nil, err
	}
	found := make([][]*dns.RecordSet, len(services))
	err = inParallel(ctx, maxReaders, len(services), func(ctx context.Context, i int) error {
		instances, err := p.instancesOf(ctx, n, services[i], l)
		switch {
		case errors.Is(err, errNoService):
			return nil // It was deleted meanwhile.
		case err != nil:
			return err
		case len(instances) == 0:
			p.clean(ctx, n, services[i])
			return nil
		}
		found[i] = services[i].sets(n.Zone, instances)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// note stores the IDs of listed services, and drops missing ones. It returns one service per name, because
// several can't be told apart. A listing may lag behind our recent changes.
func (n *namespace) note(services []*service) []*service {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := make(map[string]*knownService, len(services))
	for name, k := range n.known {
		if time.Since(k.changedAt) < lag {
			known[name] = k
		}
	}
	maps.DeleteFunc(n.removed, func(_ string, at time.Time) bool { return time.Since(at) >= lag })
	taken := make(map[string]bool, len(services))
	var list []*service
	for _, s := range services {
		if _, removed := n.removed[s.id]; removed {
			continue
		}
		name := fullName(n.Zone, s.label)
		k := known[name]
		if k == nil {
			if k = n.known[name]; k == nil || k.id != s.id {
				k = &knownService{id: s.id}
			}
			known[name] = k
		}
		if k.id == s.id && !taken[name] {
			taken[name], list = true, append(list, s)
		}
	}
	n.known, n.listed = known, true
	return list
}

// addUnlisted adds the services that this process has created and the listing still lacks.
func (p *cloudMap) addUnlisted(ctx context.Context, n *namespace, services []*service) ([]*service, error) {
	listed := make(map[string]bool, len(services))
	for _, s := range services {
		listed[s.id] = true
	}
	n.mu.Lock()
	var missing []string
	for _, k := range n.known {
		if !listed[k.id] {
			missing = append(missing, k.id)
		}
	}
	n.mu.Unlock()
	for _, id := range missing {
		s, err := p.account.service(ctx, id)
		if err != nil {
			return nil, err
		}
		if s != nil {
			services = append(services, s)
		}
	}
	return services, nil
}

func (p *cloudMap) instancesOf(ctx context.Context, n *namespace, s *service, l *listlimit.Listing) ([]instance, error) {
	name := fullName(n.Zone, s.label)
	n.mu.Lock()
	k := knownService{}
	if now := n.known[name]; now != nil {
		k = *now
	}
	n.mu.Unlock()
	recent := time.Since(k.changedAt) < lag
	if s.empty && !recent {
		return nil, nil
	}
	// The revision is read first, because a change after that gives another one.
	revision, ok, err := p.revisionOf(ctx, n, s)
	if err != nil {
		return nil, err
	}
	if ok && k.hasRevision && k.revision == revision && !recent {
		for _, i := range k.instances {
			if err := l.Add(0, i.size()); err != nil {
				return nil, err
			}
		}
		return k.instances, nil
	}
	instances, err := p.account.instances(ctx, s.id, l)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.known[name]; now != nil && now.id == s.id && now.changedAt.Equal(k.changedAt) {
		now.instances, now.revision, now.hasRevision = instances, revision, ok && !recent
	}
	return instances, nil
}

// revisionOf returns the revision of a service. If ok is false, the instances have to be listed.
func (p *cloudMap) revisionOf(ctx context.Context, n *namespace, s *service) (revision int64, ok bool, err error) {
	p.mu.Lock()
	off := time.Now().Before(p.noRevisions)
	p.mu.Unlock()
	if off {
		return 0, false, nil
	}
	revision, err = p.account.revision(ctx, n.httpName, s.label)
	switch {
	case err == nil:
		return revision, true, nil
	case ctx.Err() != nil:
		return 0, false, ctx.Err()
	case errors.Is(err, provider.ErrThrottled), errors.Is(err, provider.ErrStale):
		// A new service has no revision for some seconds.
		return 0, false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !time.Now().Before(p.noRevisions) {
		pause := pauseRevisions
		if isCertain(err) {
			pause = forbiddenRevisions
		}
		p.noRevisions = time.Now().Add(pause)
		p.log.Warn("Can't ask for the revisions of services at Cloud Map; reading all instances for a while", "for", pause, "err", err)
	}
	return 0, false, nil
}

// clean deletes a service without instances, if it is ours and the user wants that.
func (p *cloudMap) clean(ctx context.Context, n *namespace, s *service) {
	if !p.cleanup || p.ownerID == "" || ownerOf(s.description) != p.ownerID {
		return
	}
	n.mu.Lock()
	k := n.known[fullName(n.Zone, s.label)]
	recent := k != nil && time.Since(k.changedAt) < lag
	n.mu.Unlock()
	if recent {
		return // Its instances may just be being registered.
	}
	err := p.account.remove(ctx, s.id)
	switch {
	case err == nil:
		n.gone(fullName(n.Zone, s.label), s.id)
		p.log.Info("Deleted a service of Cloud Map without instances", "service", fullName(n.Zone, s.label))
	case !errors.Is(err, errInUse):
		p.log.Warn("Can't delete a service of Cloud Map without instances; trying again at the next listing", "service", fullName(n.Zone, s.label), "err", err)
	}
}

// inParallel calls a function for each of n numbers, up to the first error.
func inParallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
