package workload

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dev/lab/history"
)

const (
	// requestTimeout bounds one request to the API server. One that has run out is repeated.
	requestTimeout = 10 * time.Second
	// patience is how long an edit is tried. No fault lasts as long, so that the lab is broken.
	patience = 3 * time.Minute

	firstPause, longestPause = 50 * time.Millisecond, time.Second
)

// Recorder is where the edits of the zone are noted; a *history.Recorder.
type Recorder interface {
	Record(history.Entry)
	Now() time.Duration
}

// Key is a TSIG key (RFC 8945).
type Key struct {
	Name      string // without a dot at its end
	Algorithm string // hmac-sha256
	Secret    string // in base64
}

// Config is what a Player needs.
type Config struct {
	Plan Plan
	// API leads to the API server itself, around all faults of links. The Player makes its own clients, without a rate limit.
	API *rest.Config
	// NameServer is primary for the zone of the plan, and Key may update it. Without an address nobody edits the zone.
	NameServer netip.AddrPort
	Key        Key
	Recorder   Recorder
}

// Player makes the edits of a plan. Call Prepare once, and then Play once.
type Player struct {
	plan    Plan
	cluster *cluster
	typed   kubernetes.Interface
	zone    *zone // nil if nobody edits the zone
}

// Played is how many edits were made, how many had no object any more or found the zone otherwise than they require, and
// how many attempts had to be repeated.
type Played struct{ Made, Pointless, Repeated int }

func (p Played) plus(o Played) Played {
	return Played{p.Made + o.Made, p.Pointless + o.Pointless, p.Repeated + o.Repeated}
}

// NewPlayer makes the clients of a Player. It asks nobody anything.
func NewPlayer(c Config) (*Player, error) {
	config := rest.CopyConfig(c.API)
	config.QPS, config.Timeout = -1, requestTimeout
	config.WarningHandler = rest.NoWarnings{} // they say that Endpoints are deprecated
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the workload: %w", err)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the workload: %w", err)
	}
	p := &Player{plan: c.Plan, cluster: &cluster{client: client}, typed: typed}
	if c.NameServer.IsValid() {
		p.zone = &zone{name: c.Plan.settings.Zone, server: c.NameServer, key: c.Key, recorder: c.Recorder}
	}
	return p, nil
}

// Prepare makes the namespace and the objects of the beginning. It may be called again when it has failed.
func (p *Player) Prepare(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.plan.settings.Namespace}}
	_, err := p.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace of the workload: %w", err)
	}
	for _, e := range p.plan.Initial() {
		if _, err := p.insist(ctx, e, p.cluster.attempt); err != nil {
			return fmt.Errorf("make the beginning of the workload: %w", err)
		}
	}
	return nil
}

// EtcdRestored says that etcd serves an older copy of its data. From then on an object that an edit is about may be another one
// than the plan knows. Edits that it doesn't allow are pointless, and one in the place of a new object is deleted.
func (p *Player) EtcdRestored() { p.cluster.restored.Store(true) }

// Play makes the edits that are due before the end of a duration, which counts from now. It returns when all of
// them have been made, which is later than the duration if a server was away at its end; or when ctx ends, or with an
// edit that can't be made.
func (p *Player) Play(ctx context.Context, duration time.Duration) (Played, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	var objects, zone Played
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() {
		if objects, errs[0] = p.playObjects(ctx, start, duration); errs[0] != nil {
			cancel()
		}
	})
	if p.zone != nil {
		wg.Go(func() {
			if zone, errs[1] = p.playZone(ctx, start, duration); errs[1] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return objects.plus(zone), errors.Join(errs[:]...)
}

// playObjects makes the edits of objects. It keeps the distance of edits that want one.
func (p *Player) playObjects(ctx context.Context, start time.Time, duration time.Duration) (total Played, err error) {
	madeAt := map[int]time.Time{}
	for e := range p.plan.Edits() {
		if e.At >= duration {
			break
		}
		if e.Object == nil {
			continue
		}
		if err := wait(ctx, time.Until(e.due(start, madeAt))); err != nil {
			return total, fmt.Errorf("wait for edit %s: %w", e, err)
		}
		one, err := p.insist(ctx, e, p.cluster.attempt)
		if total = total.plus(one); err != nil {
			return total, err
		}
		if e.Gone {
			madeAt[e.Number] = time.Now()
		}
	}
	return total, nil
}

// due returns when an edit may be made, by when those were made that it has to keep a distance from.
func (e Edit) due(start time.Time, madeAt map[int]time.Time) time.Time {
	due := start.Add(e.At)
	if other, was := madeAt[e.After]; was && other.Add(e.Gap).After(due) {
		due = other.Add(e.Gap)
	}
	return due
}

func (p *Player) playZone(ctx context.Context, start time.Time, duration time.Duration) (total Played, err error) {
	for e := range p.plan.Edits() {
		if e.At >= duration {
			break
		}
		if e.Zone == nil {
			continue
		}
		if err := wait(ctx, time.Until(start.Add(e.At))); err != nil {
			return total, fmt.Errorf("wait for edit %s: %w", e, err)
		}
		one, err := p.insist(ctx, e, p.zone.attempt)
		if total = total.plus(one); err != nil {
			return total, err
		}
	}
	return total, nil
}

// insist repeats an edit until it is made or pointless.
func (p *Player) insist(ctx context.Context, e Edit, attempt func(context.Context, Edit) (outcome, error)) (Played, error) {
	deadline := time.Now().Add(patience)
	var count Played
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		became, err := attempt(ctx, e)
		switch became {
		case made:
			count.Made++
			return count, nil
		case pointless:
			count.Pointless++
			return count, nil
		case failed:
			return count, fmt.Errorf("make edit %s: %w", e, err)
		}
		count.Repeated++
		if time.Now().After(deadline) {
			return count, fmt.Errorf("make edit %s: it doesn't succeed for %s: %w", e, patience, err)
		}
		if ended := wait(ctx, pause); ended != nil {
			return count, fmt.Errorf("make edit %s: %w, after: %w", e, ended, err)
		}
	}
}

// wait returns after a time, or with the reason why ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return context.Cause(ctx)
	}
}
