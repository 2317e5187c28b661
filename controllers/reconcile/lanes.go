package reconcile

// lanes keeps a worker free for other namespaces while the syncs of one are slow. It is not safe for
// concurrent use.
type lanes struct {
	// most is how many Services of a namespace are synced at once; 0 means no limit.
	most    int
	running map[string]int
	// parked has the Services of each namespace that wait for another sync of it to end, in order of arrival.
	parked map[string][]Key
	// waits is true for the Services in parked.
	waits map[Key]bool
}

// newLanes returns lanes for a number of workers. With less than three, a free worker would cost a namespace
// half of them.
func newLanes(workers int) *lanes {
	l := &lanes{running: map[string]int{}, parked: map[string][]Key{}, waits: map[Key]bool{}}
	if workers >= 3 {
		l.most = workers - 1
	}
	return l
}

// begin reports whether a Service may be synced now. If not, end returns it later.
func (l *lanes) begin(key Key) bool {
	if l.most > 0 && l.running[key.Namespace] >= l.most {
		if !l.waits[key] {
			l.waits[key] = true
			l.parked[key.Namespace] = append(l.parked[key.Namespace], key)
		}
		return false
	}
	l.running[key.Namespace]++
	return true
}

// end records that the sync of a Service has ended, and returns the Service to sync instead.
func (l *lanes) end(key Key) (next Key, ok bool) {
	if l.running[key.Namespace]--; l.running[key.Namespace] == 0 {
		delete(l.running, key.Namespace)
	}
	parked := l.parked[key.Namespace]
	if len(parked) == 0 {
		return Key{}, false
	}
	delete(l.waits, parked[0])
	if len(parked) == 1 {
		delete(l.parked, key.Namespace)
	} else {
		l.parked[key.Namespace] = parked[1:]
	}
	return parked[0], true
}
