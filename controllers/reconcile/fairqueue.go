package reconcile

// fairQueue is a workqueue.Queue whose namespaces take turns, so that the Services of a namespace don't wait
// for the thousands of another one. The Services of a namespace are in order of arrival.
type fairQueue struct {
	// waiting has the Services of each namespace with waiting Services.
	waiting map[string][]Key
	// turns are these namespaces, the next one first.
	turns []string
	// length is the number of Services.
	length int
}

func newFairQueue() *fairQueue { return &fairQueue{waiting: map[string][]Key{}} }

// Touch implements workqueue.Queue.
func (q *fairQueue) Touch(Key) {}

// Push implements workqueue.Queue.
func (q *fairQueue) Push(key Key) {
	waiting, has := q.waiting[key.Namespace]
	if !has {
		q.turns = append(q.turns, key.Namespace)
	}
	q.waiting[key.Namespace] = append(waiting, key)
	q.length++
}

// Len implements workqueue.Queue.
func (q *fairQueue) Len() int { return q.length }

// Pop implements workqueue.Queue.
func (q *fairQueue) Pop() Key {
	namespace := q.turns[0]
	q.turns = q.turns[1:]
	waiting := q.waiting[namespace]
	if len(waiting) > 1 {
		q.waiting[namespace] = waiting[1:]
		q.turns = append(q.turns, namespace)
	} else {
		delete(q.waiting, namespace)
	}
	q.length--
	return waiting[0]
}
