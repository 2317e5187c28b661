package publisher

// turns issues tickets so that namespaces take turns, however many names each has waiting:
// start-time fair queueing. A name gets a ticket one higher than the last one of its namespace, but
// not lower than the last ticket that was served. Tickets are served in ascending order. A ticket
// takes constant time.
type turns struct {
	// served is the highest ticket that was served.
	served uint64
	users  map[string]*turn
}

// turn is the last ticket of a namespace with waiting names.
type turn struct {
	last  uint64
	names int
}

// draw returns a ticket for a name of a namespace. Each ticket must be given back once.
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

// serve notes that a ticket is served.
func (t *turns) serve(ticket uint64) { t.served = max(t.served, ticket) }

// giveBack returns a ticket of a namespace. A namespace without tickets is forgotten.
func (t *turns) giveBack(namespace string) {
	u := t.users[namespace]
	if u == nil {
		return
	}
	if u.names--; u.names == 0 {
		delete(t.users, namespace)
	}
}
