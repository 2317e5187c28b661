package witness

import (
	"context"
	"errors"
	"fmt"
	"time"

	mdns "github.com/miekg/dns"
)

const (
	// pollEvery is how often a zone is looked at, unless the configuration says otherwise.
	pollEvery = 50 * time.Millisecond
	// soaWithin bounds a question for a serial, transferWithin each step of a transfer.
	soaWithin      = time.Second
	transferWithin = 5 * time.Second
)

// Key is a TSIG key (RFC 8945).
type Key struct {
	// Name and Algorithm may be without a dot at their end: lab, hmac-sha256.
	Name, Algorithm string
	// Secret is in base64.
	Secret string
}

// ZoneConfig says what a Zone reads.
type ZoneConfig struct {
	// Server is the address of the name server, HOST:PORT, where it answers over UDP and TCP. BIND has to keep all changes:
	// see BINDOptions.
	Server string
	// Name is the zone's: lab.example.
	Name string
	// Key signs transfers; nil if the server asks for none.
	Key *Key
	// Every is the time between two looks; 50 ms if it is zero.
	Every time.Duration
}

// BINDOptions are lines for the options statement of named.conf. With them BIND forgets no serial, and answers IXFR with
// the changes also when the whole zone would be shorter.
const BINDOptions = "max-journal-size unlimited; max-ixfr-ratio unlimited; provide-ixfr yes;"

// Zone records each serial of a zone, by IXFR (RFC 1995).
type Zone struct {
	config   ZoneConfig
	recorder Recorder
	progress *progress[serial]
}

// serial is how far the witness of a zone is.
type serial struct {
	known bool
	at    uint32
}

// NewZone makes the witness of a zone.
func NewZone(config ZoneConfig, recorder Recorder) *Zone {
	config.Name = mdns.CanonicalName(config.Name)
	if config.Every == 0 {
		config.Every = pollEvery
	}
	return &Zone{config: config, recorder: recorder, progress: newProgress[serial]()}
}

// Run records until ctx ends: at first the whole zone, then what each serial has changed. If the server doesn't know the
// changes any more, or its serial goes back, the whole zone is recorded again: an entry that is Whole and isn't the first of
// its zone says that serials may be missing. A server that is away is asked until it is back. An error means that its
// answer contradicts itself.
func (z *Zone) Run(ctx context.Context) error {
	tick := time.NewTicker(z.config.Every)
	defer tick.Stop()
	for {
		err := z.look(ctx)
		if contradiction := (contradiction{}); errors.As(err, &contradiction) {
			z.progress.end(err)
			return err
		}
		z.progress.fail(err)
		select {
		case <-ctx.Done():
			z.progress.end(nil)
			return nil
		case <-tick.C:
		}
	}
}

// Serial is the last serial that is recorded; zero before the first.
func (z *Zone) Serial() uint32 { return z.progress.get().at }

// WaitFor returns when a serial or a later one (RFC 1982) is recorded. It returns an error when ctx or Run ends before that.
func (z *Zone) WaitFor(ctx context.Context, wanted uint32) error {
	if err := z.progress.wait(ctx, func(s serial) bool { return s.known && !newer(wanted, s.at) }); err != nil {
		return fmt.Errorf("wait for serial %d of zone %s, at %d: %w", wanted, z.config.Name, z.Serial(), err)
	}
	return nil
}

// look records what has changed since the last look.
func (z *Zone) look(ctx context.Context) error {
	have := z.progress.get()
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
		z.progress.reach(serial{known: true, at: entry.Zone.Serial})
	}
	return nil
}

// current asks for the serial of now.
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

// newer is whether a comes after b (RFC 1982, section 3.2).
func newer(a, b uint32) bool { return a != b && a-b < 1<<31 }
