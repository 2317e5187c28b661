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
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// requestTimeout is the time limit of a request to the API server, which is then repeated.
	requestTimeout = 10 * time.Second
	// patience is how long an edit is retried. A longer failure is a bug of the lab, because no fault lasts
	// as long.
	patience = 3 * time.Minute

	firstPause, longestPause = 50 * time.Millisecond, time.Second
)

// Recorder records the edits of the zone, like [history.Recorder].
type Recorder interface {
	Record(history.Entry)
	Now() time.Duration
}

// Key is a TSIG key (RFC 8945).
type Key struct {
	Name      string // without the final dot
	Algorithm string // hmac-sha256
	Secret    string // in base64
}

// Config is the configuration of a Player.
type Config struct {
	Plan Plan
	// API is the config for the API server itself, without the links with faults. The Player's clients have
	// no rate limit.
	API *rest.Config
	// NameServer is the primary of the plan's zone, and accepts updates with Key. Without it, the zone is not
	// edited.
	NameServer netip.AddrPort
	Key        Key
	Recorder   Recorder
}

// Player makes the edits of a plan. Call Prepare once, and then Play once.
type Player struct {
	plan    Plan
	cluster *cluster
	typed   kubernetes.Interface
	zone    *zone // nil if the zone isn't edited
}

// Played counts the edits that were made, those that were pointless because the object is missing or the zone
// doesn't meet the requirement, and the repeated attempts.
type Played struct{ Made, Pointless, Repeated int }

func (p Played) plus(o Played) Played {
	return Played{p.Made + o.Made, p.Pointless + o.Pointless, p.Repeated + o.Repeated}
}

// NewPlayer returns a Player. It contacts no server.
func NewPlayer(c Config) (*Player, error) {
	config := rest.CopyConfig(c.API)
	config.QPS, config.Timeout = -1, requestTimeout
	config.WarningHandler = rest.NoWarnings{} // or the deprecation of Endpoints would be logged
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

// Prepare creates the namespace and the initial objects. It may be called again after an error.
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

// EtcdRestored must be called after an etcd restore. An object may then be an older one than in the plan. An
// edit that the object doesn't allow is pointless, and an older object in the place of a new one is deleted.
func (p *Player) EtcdRestored() { p.cluster.restored.Store(true) }

// Play makes the edits that are due within a duration from now. It returns when all are made, which is later
// if a server is unreachable at the end, when ctx ends, or with the error of an edit that can't be made.
func (p *Player) Play(ctx context.Context, duration time.Duration) (Played, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	var objects, zone Played
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() {
		if objects, errs[0] = p.playSome(ctx, start, duration, false, p.cluster.attempt); errs[0] != nil {
			cancel()
		}
	})
	if p.zone != nil {
		wg.Go(func() {
			if zone, errs[1] = p.playSome(ctx, start, duration, true, p.zone.attempt); errs[1] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return objects.plus(zone), errors.Join(errs[:]...)
}

// playSome makes the edits of objects, or those of the zone, with the required gaps.
func (p *Player) playSome(ctx context.Context, start time.Time, duration time.Duration, ofZone bool, attempt attempt) (total Played, err error) {
	madeAt := map[int]time.Time{}
	for e := range p.plan.Edits() {
		if e.At >= duration {
			break
		}
		if (e.Zone != nil) != ofZone {
			continue
		}
		if err := wait(ctx, time.Until(e.due(start, madeAt))); err != nil {
			return total, fmt.Errorf("wait for edit %s: %w", e, err)
		}
		one, err := p.insist(ctx, e, attempt)
		if total = total.plus(one); err != nil {
			return total, err
		}
		if e.Gone {
			madeAt[e.Number] = time.Now()
		}
	}
	return total, nil
}

// due returns when an edit may be made, given the times of the earlier edits.
func (e Edit) due(start time.Time, madeAt map[int]time.Time) time.Time {
	due := start.Add(e.At)
	if other, was := madeAt[e.After]; was && other.Add(e.Gap).After(due) {
		due = other.Add(e.Gap)
	}
	return due
}

// attempt tries to make an edit once.
type attempt func(context.Context, Edit) (outcome, error)

// insist repeats an edit until it is made or pointless.
func (p *Player) insist(ctx context.Context, e Edit, attempt attempt) (Played, error) {
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

// wait waits for d. It returns the cause if ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	_ = pause.For(ctx, d)
	return context.Cause(ctx)
}
