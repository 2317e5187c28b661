package publisher

import "github.com/signpostd/signpost/dns/source"

// backlog queues the objects to evaluate, each once. Namespaces take turns. Objects of one
// namespace are evaluated in the order of their changes.
type backlog struct {
	// queues has the queued objects of each namespace. order has the namespaces by turn.
	queues map[string][]changedObject
	order  []string
	known  map[changedObject]struct{}
}

// changedObject is an object of the source with the given index.
type changedObject struct {
	source int
	key    source.Key
}

func newBacklog() *backlog {
	return &backlog{queues: map[string][]changedObject{}, known: map[changedObject]struct{}{}}
}

func (b *backlog) len() int { return len(b.known) }

// add queues an object, unless it is queued already.
func (b *backlog) add(o changedObject) {
	if _, known := b.known[o]; known {
		return
	}
	b.known[o] = struct{}{}
	namespace := o.key.Namespace
	if len(b.queues[namespace]) == 0 {
		b.order = append(b.order, namespace)
	}
	b.queues[namespace] = append(b.queues[namespace], o)
}

func (b *backlog) next() (o changedObject, ok bool) {
	if len(b.order) == 0 {
		b.reset()
		return o, false
	}
	namespace := b.order[0]
	b.order = b.order[1:]
	queue := b.queues[namespace]
	o, queue = queue[0], queue[1:]
	delete(b.known, o)
	if len(queue) == 0 {
		delete(b.queues, namespace)
		return o, true
	}
	b.queues[namespace] = queue
	b.order = append(b.order, namespace)
	return o, true
}

// reset frees the memory of a long backlog, because a map never shrinks.
func (b *backlog) reset() {
	if len(b.known) == 0 && b.order != nil {
		*b = *newBacklog()
	}
}
