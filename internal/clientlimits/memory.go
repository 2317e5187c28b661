package clientlimits

// Memory is the memory of a response that all clients with the same query share. It counts against the limits
// of the client that was the first to need it. One goroutine at a time may use it. The zero Memory counts
// against no limit.
type Memory struct {
	clients *Clients
	client  ClientID
	bytes   int
}

// Memory returns the memory of a response that a client is the first to need, with zero bytes.
func (c *Clients) Memory(first ClientID) Memory { return Memory{clients: c, client: first} }

// Resize sets the size of the memory in bytes. Above a limit it returns a status error, and the size stays.
// In the end, Free must follow.
func (m *Memory) Resize(bytes int) error {
	more := bytes - m.bytes
	switch {
	case m.clients == nil:
		return nil
	case more > 0:
		if err := m.clients.use(m.client, responseByte, more); err != nil {
			return err
		}
	case more < 0:
		m.clients.free(m.client, responseByte, -more)
	}
	m.bytes = bytes
	return nil
}

// Free sets the size to zero.
func (m *Memory) Free() { _ = m.Resize(0) } // less memory is never refused
