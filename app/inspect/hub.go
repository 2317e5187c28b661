package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// changesEvery is the interval of change events.
	changesEvery = time.Second
	// compareTimeout limits the comparison of a topic.
	compareTimeout = 2 * time.Second
	// comparePause is the pause after a comparison, as a multiple of its duration: a topic uses a
	// fiftieth of a CPU at most. maxComparePause caps the pause, because a comparison may have
	// waited.
	comparePause, maxComparePause = 50, 5 * time.Second
	// maxListeners limits the parallel listeners.
	maxListeners = 8
	// maxUnread limits the events that wait for a listener. A slower listener is disconnected.
	maxUnread = 4
)

// watch detects the changes of a topic since its last call.
type watch interface {
	// next returns the data of an event; nil if nothing has changed. The first call returns the data
	// for a new listener, which may be nil.
	next(ctx context.Context) any
}

// hub sends changes to listeners. Without listeners it reads nothing.
type hub struct {
	// topics create a watch for each topic of the process.
	topics map[Topic]func() watch
	// stopped is closed when run has ended.
	stopped chan struct{}

	mu        sync.Mutex
	listeners []*listener
	watches   map[Topic]watch
	// nextCompare has the times when topics may be compared again.
	nextCompare map[Topic]time.Time
}

// listener is a subscriber of topics.
type listener struct {
	topics []Topic
	// events are ready to be written. The channel is closed if the listener is too slow.
	events chan []byte
}

func newHub(topics map[Topic]func() watch) *hub {
	return &hub{topics: topics, stopped: make(chan struct{}), watches: map[Topic]watch{}, nextCompare: map[Topic]time.Time{}}
}

func (h *hub) run(ctx context.Context) error {
	defer close(h.stopped)
	tick := time.Tick(changesEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			h.compare(ctx)
		}
	}
}

func (h *hub) listen(ctx context.Context, topics []Topic) *listener {
	// A new listener gets an event for each topic at once.
	l := &listener{topics: topics, events: make(chan []byte, maxUnread+len(topics))}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(ctx, l)
	return l
}

func (h *hub) unlisten(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(l)
}

// add starts to watch the topics of a listener. Pending changes are sent to the others now, so that
// one comparison serves all.
func (h *hub) add(ctx context.Context, l *listener) {
	for _, topic := range l.topics {
		if h.watches[topic] != nil {
			h.notify(ctx, topic)
		}
		// The watch ends if its last listener is disconnected because it is too slow.
		if h.watches[topic] != nil {
			if topic == TopicStatus {
				// The other listeners have that state already.
				h.send(l, event(topic, h.begin(ctx, topic)))
			}
			continue
		}
		if first := h.begin(ctx, topic); first != nil {
			h.send(l, event(topic, first))
		}
	}
	h.listeners = append(h.listeners, l)
}

// begin creates a watch of a topic, and returns the data for a new listener.
func (h *hub) begin(ctx context.Context, topic Topic) any {
	h.watches[topic] = h.topics[topic]()
	return h.next(ctx, topic)
}

// next compares a topic.
func (h *hub) next(ctx context.Context, topic Topic) any {
	ctx, cancel := context.WithTimeout(ctx, compareTimeout)
	defer cancel()
	begun := time.Now()
	changed := h.watches[topic].next(ctx)
	h.nextCompare[topic] = time.Now().Add(min(comparePause*time.Since(begun), maxComparePause))
	return changed
}

func (h *hub) remove(l *listener) {
	h.listeners = slices.DeleteFunc(h.listeners, func(other *listener) bool { return other == l })
	for topic := range h.watches {
		if !slices.ContainsFunc(h.listeners, func(l *listener) bool { return slices.Contains(l.topics, topic) }) {
			delete(h.watches, topic)
		}
	}
}

func (h *hub) compare(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic := range h.watches {
		if time.Now().Before(h.nextCompare[topic]) {
			continue
		}
		h.notify(ctx, topic)
	}
}

// notify sends the changes of a topic to its listeners.
func (h *hub) notify(ctx context.Context, topic Topic) {
	changed := h.next(ctx, topic)
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

// send sends an event to a listener, or disconnects it if it has too many unread ones.
func (h *hub) send(l *listener, text []byte) {
	select {
	case l.events <- text:
	default:
		close(l.events)
		h.remove(l)
	}
}

// event returns a server-sent event (HTML standard, 9.2.6). JSON has no line breaks.
func event(topic Topic, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		// The messages can always be encoded.
		text = []byte("{}")
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", topic, text)
}
