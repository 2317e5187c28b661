package witness

import (
	"context"
	"errors"
	"fmt"
	"time"

	mdns "github.com/miekg/dns"
)

const (
	// pollEvery is the interval of polls.
	pollEvery = 50 * time.Millisecond
	// soaWithin is the time limit of a query for a serial, and transferWithin that of each message of a
	// transfer.
	soaWithin      = time.Second
	transferWithin = 5 * time.Second
)

// Key is a TSIG key (RFC 8945).
type Key struct {
	// Name and Algorithm need no final dot: lab, hmac-sha256.
	Name, Algorithm string
	// Secret is in base64.
	Secret string
}

// ZoneConfig is the configuration of a Zone.
type ZoneConfig struct {
	// Server is the address of the name server, HOST:PORT, for UDP and TCP. BIND must keep all changes: see
	// BINDOptions.
	Server string
	// Name is the name of the zone: lab.example.
	Name string
	// Key signs transfers; nil if the server requires no signature.
	Key *Key
}

// BINDOptions are lines for the options statement of named.conf. With them BIND keeps all serials, and
// responds to IXFR with the changes even if the whole zone would be shorter.
const BINDOptions = "max-journal-size unlimited; max-ixfr-ratio unlimited; provide-ixfr yes;"

// Zone records each serial of a zone, by IXFR (RFC 1995).
type Zone struct {
	config   ZoneConfig
	recorder Recorder
	have     serial // the last recorded one; Run owns it
}

// serial is the position of the witness of a zone.
type serial struct {
	known bool
	at    uint32
}

// NewZone returns the witness of a zone.
func NewZone(config ZoneConfig, recorder Recorder) *Zone {
	config.Name = mdns.CanonicalName(config.Name)
	return &Zone{config: config, recorder: recorder}
}

// Run records until ctx ends: first the whole zone, then the changes of each serial. If the server has lost
// the changes, or its serial goes back, the whole zone is recorded again. So an entry that is Whole and isn't
// the first of its zone means that serials may be missing. An unreachable server is polled until it is
// reachable. An error means that a response contradicts itself.
func (z *Zone) Run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := z.poll(ctx)
		if contradiction := (contradiction{}); errors.As(err, &contradiction) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// poll records the changes since the last poll.
func (z *Zone) poll(ctx context.Context) error {
	have := z.have
	current, err := z.current(ctx)
	if err != nil || have.known && current == have.at {
		return err
	}
	query := new(mdns.Msg)
	if have.known && newer(current, have.at) {
		query.SetIxfr(z.config.Name, have.at, ".", ".")
	} else {
		query.SetAxfr(z.config.Name)
	}
	records, err := z.transfer(ctx, query)
	if err != nil {
		return fmt.Errorf("transfer zone %s from %s: %w", z.config.Name, z.config.Server, err)
	}
	entries, err := changes(z.config.Name, have, records)
	if err != nil {
		return fmt.Errorf("read the changes of zone %s since serial %d: %w", z.config.Name, have.at, err)
	}
	for _, entry := range entries {
		z.recorder.Record(entry)
		z.have = serial{known: true, at: entry.Zone.Serial}
	}
	return nil
}

// current queries the current serial.
func (z *Zone) current(ctx context.Context) (uint32, error) {
	query := new(mdns.Msg)
	query.SetQuestion(z.config.Name, mdns.TypeSOA)
	answer, _, err := (&mdns.Client{Timeout: soaWithin}).ExchangeContext(ctx, query, z.config.Server)
	if err != nil {
		return 0, fmt.Errorf("ask %s for the serial of zone %s: %w", z.config.Server, z.config.Name, err)
	}
	if len(answer.Answer) > 0 {
		if soa, ok := answer.Answer[0].(*mdns.SOA); ok {
			return soa.Serial, nil
		}
	}
	return 0, fmt.Errorf("ask %s for the serial of zone %s: it answers %s without an SOA", z.config.Server, z.config.Name, mdns.RcodeToString[answer.Rcode])
}

// newer reports whether a comes after b (RFC 1982, section 3.2).
func newer(a, b uint32) bool { return a != b && a-b < 1<<31 }
