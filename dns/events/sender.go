package events

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	eventsclient "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/eventlog"
)

const (
	// capacity is the number of Events that may wait.
	capacity = 1000
	// perSecond and burst limit the rate of sending.
	perSecond, burst = 20, 100
	tries            = 3
)

// Config says what a [Sender] sends, and where.
type Config struct {
	// Client creates the Events.
	Client eventsclient.EventsV1Interface
	// Process is the object of Events about the process, such as this pod. Without a name, no
	// such Events are sent.
	Process    dns.Object
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Manner says how the notices of one publisher are sent.
type Manner struct {
	// Reasons selects among RecordReady, RecordDeleted and RecordError. Events with other
	// reasons are about problems and are always sent.
	Reasons []string
	// DryRun makes the API server check Events without storing them.
	DryRun bool
}

// event is an Event that waits to be sent.
type event struct {
	*eventsv1.Event
	dryRun bool
}

// Sender sends Events. Make one with [New].
type Sender struct {
	config  Config
	queue   chan event
	dropped prometheus.Counter
	limit   *rate.Limiter

	// turn has room for one value, which is there while an Event is sent. Whoever put it there
	// may use forbidden: the namespaces in which this process may not create Events.
	turn      chan struct{}
	forbidden map[string]bool
}

// New returns a sender. It sends Events while Run is running.
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
	return &Sender{config: c, queue: make(chan event, capacity), dropped: dropped, limit: rate.NewLimiter(perSecond, burst), turn: make(chan struct{}, 1), forbidden: map[string]bool{}}, nil
}

// For returns a function that sends the notices of a publisher. The function doesn't block.
func (s *Sender) For(m Manner) func(publisher.Notice) {
	return func(n publisher.Notice) {
		if m.wants(n.Reason) {
			s.enqueue(n, m)
		}
	}
}

func (s *Sender) enqueue(n publisher.Notice, m Manner) {
	objects := n.Objects
	if len(objects) == 0 && n.Message != "" {
		objects = []dns.Object{s.config.Process}
	}
	for _, o := range objects {
		if o.Name == "" || o.Kind == "" {
			continue
		}
		select {
		case s.queue <- event{newEvent(o, n, time.Now()), m.DryRun}:
		default:
			s.dropped.Inc()
		}
	}
}

func (m Manner) wants(reason string) bool {
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
		case <-ctx.Done():
			return nil
		case e := <-s.queue:
			s.send(ctx, e)
		}
	}
}

// Flush sends all Events that are waiting. It returns early when ctx ends.
func (s *Sender) Flush(ctx context.Context) {
	for {
		select {
		case e := <-s.queue:
			s.send(ctx, e)
			continue
		default:
		}
		// Run may still be sending the last one.
		if s.begin(ctx) {
			s.end()
		}
		return
	}
}

// begin waits until nobody else sends. It reports false if ctx ends first.
func (s *Sender) begin(ctx context.Context) bool {
	select {
	case s.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Sender) end() { <-s.turn }

func (s *Sender) send(ctx context.Context, e event) {
	if !s.begin(ctx) {
		return
	}
	defer s.end()
	if s.forbidden[e.Namespace] {
		s.dropped.Inc()
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
	s.dropped.Inc()
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return
	}
	if apierrors.IsForbidden(err) {
		s.forbid(e.Namespace, err)
		return
	}
	s.config.Log.Warn("Can't send an Event", "namespace", e.Namespace, "object", e.Regarding.Name, "reason", e.Reason, "err", err)
}

// forbid stops Events in a namespace. This is logged once, even if Events are forbidden in
// several namespaces.
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
	_, err := s.config.Client.Events(e.Namespace).Create(ctx, e.Event, options)
	return err
}

// note returns the text of an Event: the record as ExternalDNS writes it, and then what is
// wrong.
func note(n publisher.Notice) string {
	const most, cut = 1024, 1021
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
	if len(text) > most {
		text = strings.ToValidUTF8(text[:cut], "") + "..."
	}
	return text
}
