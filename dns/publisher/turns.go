package publisher

// turns numbers names so that namespaces take turns, whatever number of names each has waiting: start-time fair queueing.
// A name gets a ticket one higher than the last one of its namespace, but not lower than the ticket that was served last. Tickets
// are served in ascending order. A ticket costs the same however many names wait.
type turns struct {
	// served is the highest ticket that was served.
	served uint64
	users  map[string]*turn
}

// turn is the place of a namespace in the queue, while it has names there.
type turn struct {
	last  uint64
	names int
}

func newTurns() *turns { return &turns{users: map[string]*turn{}} }

// draw returns a ticket for a name of a namespace. Each ticket has to be given back once.
func (t *turns) draw(namespace string) uint64 {
	u := t.users[namespace]
	if u == nil {
		u = &turn{}
		t.users[namespace] = u
	}
	u.last = max(u.last, t.served) + 1
	u.names++
	return u.last
}

// serve notes that it is the turn of a ticket.
func (t *turns) serve(ticket uint64) { t.served = max(t.served, ticket) }

// giveBack ends a ticket of a namespace. A namespace without tickets begins anew.
func (t *turns) giveBack(namespace string) {
	u := t.users[namespace]
	if u == nil {
		return
	}
	if u.names--; u.names == 0 {
		delete(t.users, namespace)
	}
}
