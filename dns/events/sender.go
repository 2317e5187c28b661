package events

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/utils/lru"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/eventlog"
)

const (
	// capacity limits the waiting Events.
	capacity = 1000
	// perSecond and burst limit the rate of sending.
	perSecond, burst = 20, 100
	tries            = 3
	// remembered limits the remembered Events about problems. Within repeatAfter an equal Event isn't
	// sent again, because an object that changes all the time repeats its problems.
	remembered  = 4096
	repeatAfter = 5 * time.Minute
)

// Config configures a [Sender].
type Config struct {
	Client eventsclient.EventsV1Interface
	// Process is the object of Events about the process, such as this pod. Without a name, no such
	// Events are sent.
	Process    dns.Object
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Options are the settings for the notices of one publisher.
type Options struct {
	// Reasons selects among RecordReady, RecordDeleted and RecordError. Events with other reasons are
	// about problems and are always sent.
	Reasons []string
	// DryRun makes the API server check Events without storing them.
	DryRun bool
}

// event is an Event that waits to be sent.
type event struct {
	*eventsv1.Event
	dryRun bool
}

// Sender sends Events. [New] creates it.
type Sender struct {
	config Config
	// queue has the waiting Events. problems has those about problems, which are sent first: many
	// names that are published at once must not displace them.
	queue, problems chan event
	dropped         prometheus.Counter
	limit           *rate.Limiter

	// turn is a lock of sending and of forbidden: the namespaces in which this process may not create
	// Events.
	turn      *semaphore.Weighted
	forbidden map[string]bool
	// countForbidden is true once the right to count Events was found missing. turn guards it too.
	countForbidden bool

	// mu guards lastSent: the time of the last Event about each problem, by key.
	mu       sync.Mutex
	lastSent *lru.Cache
}

// New returns a sender. Events are sent while Run is running.
func New(c Config) (*Sender, error) {
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "signpost_dns_events_dropped_total", Help: "Events that were not sent, because too many were waiting or the API server refused them.",
	})
	if c.Registerer != nil {
		if err := c.Registerer.Register(dropped); err != nil {
			return nil, fmt.Errorf("register the metrics of Events: %w: make one sender for each registry", err)
		}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Sender{config: c, queue: make(chan event, capacity), problems: make(chan event, capacity), dropped: dropped, limit: rate.NewLimiter(perSecond, burst), turn: semaphore.NewWeighted(1), forbidden: map[string]bool{}, lastSent: lru.New(remembered)}, nil
}

// For returns a function that sends the notices of a publisher. The function doesn't block.
func (s *Sender) For(m Options) func(publisher.Notice) {
	return func(n publisher.Notice) {
		if m.wants(n.Reason) {
			s.enqueue(n, m)
		}
	}
}

func (s *Sender) enqueue(n publisher.Notice, m Options) {
	objects := n.Objects
	if len(objects) == 0 && n.Message != "" {
		objects = []dns.Object{s.config.Process}
	}
	for _, o := range objects {
		if o.Name == "" || o.Kind == "" {
			continue
		}
		e := event{newEvent(o, n, time.Now()), m.DryRun}
		if e.Type == corev1.EventTypeWarning && !s.isNew(e) {
			continue
		}
		queue := s.queue
		if e.Type == corev1.EventTypeWarning {
			queue = s.problems
		}
		select {
		case queue <- e:
		default:
			s.drop(e)
		}
	}
}

// isNew reports whether an Event about a problem has not been sent recently, and records that it is
// being sent.
func (s *Sender) isNew(e event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.lastSent.Get(keyOf(e)); ok && e.EventTime.Sub(at.(time.Time)) < repeatAfter {
		return false
	}
	s.lastSent.Add(keyOf(e), e.EventTime.Time)
	return true
}

// drop counts an Event that isn't sent, and lets the next equal one be sent.
func (s *Sender) drop(e event) {
	s.dropped.Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastSent.Remove(keyOf(e))
}

// keyOf identifies the content of an Event, because its name is a hash of it.
func keyOf(e event) string { return e.Namespace + "/" + e.Name }

func (m Options) wants(reason string) bool {
	switch reason {
	case publisher.ReasonReady, publisher.ReasonDeleted, publisher.ReasonError:
		return slices.Contains(m.Reasons, reason)
	default:
		return true
	}
}

// Run sends Events until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	for {
		select {
		case e := <-s.problems:
			s.send(ctx, e)
			continue
		default:
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.problems:
			s.send(ctx, e)
		case e := <-s.queue:
			s.send(ctx, e)
		}
	}
}

// Flush sends all waiting Events. It returns early when ctx ends.
func (s *Sender) Flush(ctx context.Context) {
	for _, queue := range []chan event{s.problems, s.queue} {
		for len(queue) > 0 {
			select {
			case e := <-queue:
				s.send(ctx, e)
			default: // Run has taken it
			}
		}
	}
	// Run may still be sending the last one.
	if s.turn.Acquire(ctx, 1) == nil {
		s.turn.Release(1)
	}
}

func (s *Sender) send(ctx context.Context, e event) {
	if s.turn.Acquire(ctx, 1) != nil {
		return
	}
	defer s.turn.Release(1)
	if s.forbidden[e.Namespace] {
		s.drop(e)
		return
	}
	var err error
	for range tries {
		if s.limit.Wait(ctx) != nil {
			return
		}
		if err = s.create(ctx, e); err == nil {
			eventlog.Sent(s.config.Log, eventlog.Event{Object: &e.Regarding, Type: e.Type, Reason: e.Reason, Message: e.Note, DryRun: e.dryRun})
			return
		}
		if ctx.Err() != nil {
			return
		}
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			break
		}
	}
	s.drop(e)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return
	}
	if apierrors.IsForbidden(err) {
		s.forbid(e.Namespace, err)
		return
	}
	s.config.Log.Warn("Can't send an Event", "kind", e.Regarding.Kind, "namespace", e.Namespace, "name", e.Regarding.Name, "reason", e.Reason, "err", err)
}

// forbid stops Events in a namespace. The first namespace is logged.
func (s *Sender) forbid(namespace string, err error) {
	if len(s.forbidden) == 0 {
		s.config.Log.Warn("This process may not create Events, so no more are sent: allow it, or give --events-emit=none",
			"namespace", namespace, "err", err)
	}
	s.forbidden[namespace] = true
}

func (s *Sender) create(ctx context.Context, e event) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	options := metav1.CreateOptions{}
	if e.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	client := s.config.Client.Events(e.Namespace)
	_, err := client.Create(ctx, e.Event, options)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if e.dryRun || s.countForbidden {
		return nil
	}
	err = count(ctx, client, e.Event)
	switch {
	case apierrors.IsForbidden(err):
		// The Event exists, and only its count is too low.
		s.countForbidden = true
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("count an Event that has just expired: %v", err) // so it is tried again
	default:
		return err
	}
}

// count increases the count of an existing Event. The response of an empty patch contains the
// Event, so no right to read is needed.
func count(ctx context.Context, client eventsclient.EventInterface, e *eventsv1.Event) error {
	there, err := client.Patch(ctx, e.Name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	series := &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
	if there.Series != nil {
		series.Count = there.Series.Count + 1
	}
	patch, err := json.Marshal(map[string]any{"series": series})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// note returns the text of an Event: the record as ExternalDNS writes it, then the message.
func note(n publisher.Notice) string {
	const maxLength, cut = 1024, 1021
	text := n.Message
	if r := n.Record; r != nil {
		who := r.Labels[dns.LabelOwner]
		if who == "" {
			who = r.SetIdentifier
		}
		text = fmt.Sprintf("(external-dns) record:%s,owner:%s,type:%s,ttl:%d,targets:%s", r.Name, who, r.Type, r.TTL, strings.Join(r.Targets, ","))
		if n.Message != "" {
			text += ": " + n.Message
		}
	}
	if len(text) > maxLength {
		text = strings.ToValidUTF8(text[:cut], "") + "..."
	}
	return text
}
