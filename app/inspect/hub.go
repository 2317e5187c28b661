package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

const (
	// changesEvery is how often listeners are told of changes.
	changesEvery = time.Second
	// lookTime is how long it may take to find out what has changed of a topic.
	lookTime = 2 * time.Second
	// maxListeners is how many may listen at a time.
	maxListeners = 8
	// unread is how many events may wait for a listener. One that is further behind is cut off.
	unread = 4
)

// watch finds out what has changed of a topic since it was asked last.
type watch interface {
	// next returns the data of an event; nil if nothing has changed. The first call returns what a
	// new listener is told, which may be nil.
	next(ctx context.Context) any
}

// hub tells listeners of changes. Its goroutine, that of run, owns everything but the channels. It
// looks at nothing while nobody listens.
type hub struct {
	// topics make a watch for each topic that the process has.
	topics map[Topic]func() watch
	places chan struct{}
	join   chan *listener
	leave  chan *listener
	// stopped is closed when run has ended.
	stopped chan struct{}

	listeners []*listener
	watches   map[Topic]watch
}

// listener is who listens to some topics.
type listener struct {
	topics []Topic
	// events are ready to be written. The channel is closed when the listener is too slow.
	events chan []byte
	// joined is closed when the first look at the topics was taken.
	joined chan struct{}
}

func newHub(topics map[Topic]func() watch) *hub {
	return &hub{
		topics:  topics,
		places:  make(chan struct{}, maxListeners),
		join:    make(chan *listener),
		leave:   make(chan *listener),
		stopped: make(chan struct{}),
		watches: map[Topic]watch{},
	}
}

func newListener(topics []Topic) *listener {
	// A new listener is told of each topic at once.
	return &listener{topics: topics, events: make(chan []byte, unread+len(topics)), joined: make(chan struct{})}
}

func (h *hub) run(ctx context.Context) error {
	defer close(h.stopped)
	tick := time.NewTicker(changesEvery)
	tick.Stop()
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-h.join:
			if len(h.listeners) == 0 {
				tick.Reset(changesEvery)
			}
			h.add(ctx, l)
		case l := <-h.leave:
			h.remove(l)
		case <-tick.C:
			h.look(ctx)
		}
		if len(h.listeners) == 0 {
			tick.Stop()
		}
	}
}

// add begins to watch the topics of a listener. What others have not been told of yet is told now,
// so that one look counts for all.
func (h *hub) add(ctx context.Context, l *listener) {
	for _, topic := range l.topics {
		if h.watches[topic] != nil {
			h.tell(ctx, topic)
			if topic == TopicStatus {
				// The others know it.
				h.send(l, event(topic, h.begin(ctx, topic)))
			}
			continue
		}
		if first := h.begin(ctx, topic); first != nil {
			h.send(l, event(topic, first))
		}
	}
	h.listeners = append(h.listeners, l)
	close(l.joined)
}

// begin makes a watch of a topic, and returns what a new listener is told.
func (h *hub) begin(ctx context.Context, topic Topic) any {
	h.watches[topic] = h.topics[topic]()
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return h.watches[topic].next(ctx)
}

func (h *hub) remove(l *listener) {
	h.listeners = slices.DeleteFunc(h.listeners, func(other *listener) bool { return other == l })
	for topic := range h.watches {
		if !slices.ContainsFunc(h.listeners, func(l *listener) bool { return slices.Contains(l.topics, topic) }) {
			delete(h.watches, topic)
		}
	}
}

func (h *hub) look(ctx context.Context) {
	for topic := range h.watches {
		h.tell(ctx, topic)
	}
}

// tell tells the listeners of a topic what has changed.
func (h *hub) tell(ctx context.Context, topic Topic) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	changed := h.watches[topic].next(ctx)
	if changed == nil {
		return
	}
	text := event(topic, changed)
	for _, l := range slices.Clone(h.listeners) {
		if slices.Contains(l.topics, topic) {
			h.send(l, text)
		}
	}
}

// send gives an event to a listener, or cuts it off if it has too many unread ones.
func (h *hub) send(l *listener, text []byte) {
	select {
	case l.events <- text:
	default:
		close(l.events)
		h.remove(l)
	}
}

// event is an event as the HTML standard has it (9.2.6). JSON has no line breaks.
func event(topic Topic, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		// The messages are values that can be encoded.
		text = []byte("{}")
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", topic, text)
}
