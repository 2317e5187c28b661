package workload

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

const (
	// Person is the Replica of the writes that the person makes.
	Person = "person"

	// fudge is how long the name server takes a message after it was signed, in seconds (RFC 8945, section 5.2.3). One
	// that a paused server reads later is refused, so that an update can't be made after the next one.
	fudge = 3
	// answerTimeout is longer, so that an update that has no answer by then is never made.
	answerTimeout = (fudge + 2) * time.Second
)

// zone makes edits of the zone.
type zone struct {
	name     string
	server   netip.AddrPort
	key      Key
	recorder Recorder
}

// attempt sends an update once, and records it.
func (z *zone) attempt(ctx context.Context, e Edit) (outcome, error) {
	message, err := z.message(*e.Zone)
	if err != nil {
		return failed, err
	}
	packed, err := message.Pack()
	if err != nil {
		return failed, err
	}
	sent := max(z.recorder.Now(), 1) // zero would be the time when it is recorded
	began := time.Now()
	rcode, err := z.exchange(ctx, message)
	write := history.Write{
		Replica: Person, Status: rcode, Update: &history.UpdateWrite{Zone: z.name, Names: []string{e.Zone.Name}, Message: packed},
	}
	if rcode >= 0 {
		write.Answered = z.recorder.Now()
	}
	z.recorder.Record(history.Entry{At: sent, Write: &write})
	if err != nil {
		return z.unanswered(ctx, began, err)
	}
	switch rcode {
	case mdns.RcodeSuccess:
		return made, nil
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset, mdns.RcodeNXRrset, mdns.RcodeNameError:
		return pointless, nil
	case mdns.RcodeServerFailure, mdns.RcodeNotAuth: // it starts, or the message was too old
		return again, fmt.Errorf("the name server answers %s", mdns.RcodeToString[rcode])
	default:
		return failed, fmt.Errorf("the name server answers %s", mdns.RcodeToString[rcode])
	}
}

// unanswered returns when an update without an answer can't be made any more.
func (z *zone) unanswered(ctx context.Context, began time.Time, err error) (outcome, error) {
	var refused dialError
	if errors.As(err, &refused) {
		return again, err // it was never sent
	}
	if ended := wait(ctx, answerTimeout-time.Since(began)); ended != nil {
		return again, ended
	}
	return again, err
}

// dialError means that there was no connection.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// exchange sends a message over a connection of its own, and returns the response code; -1 without an answer.
func (z *zone) exchange(ctx context.Context, message *mdns.Msg) (int, error) {
	keyName := mdns.Fqdn(z.key.Name)
	client := &mdns.Client{Net: "tcp", Timeout: answerTimeout, TsigSecret: map[string]string{keyName: z.key.Secret}}
	conn, err := client.DialContext(ctx, z.server.String())
	if err != nil {
		return -1, dialError{fmt.Errorf("connect to the name server: %w", err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	message.SetTsig(keyName, mdns.Fqdn(z.key.Algorithm), fudge, time.Now().Unix())
	answer, _, err := client.ExchangeWithConnContext(ctx, message, conn)
	if answer != nil && answer.Rcode != mdns.RcodeSuccess {
		return answer.Rcode, nil // also when it isn't signed, as with a bad time
	}
	if err != nil {
		return -1, fmt.Errorf("update %s: %w", z.name, err)
	}
	return answer.Rcode, nil
}

// message returns the update of an edit, with its prerequisites (RFC 2136, sections 2.4 and 2.5).
func (z *zone) message(e ZoneEdit) (*mdns.Msg, error) {
	message := new(mdns.Msg)
	message.SetUpdate(z.name)
	set := []mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: e.Name, Rrtype: mdns.StringToType[e.Type]}}}
	addresses := []mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: e.Name, Rrtype: mdns.TypeA}}}
	old, err := e.records(e.Old)
	if err != nil {
		return nil, err
	}
	fresh, err := e.records(e.New)
	if err != nil {
		return nil, err
	}
	switch e.Require {
	case Unused:
		message.NameNotUsed(set)
	case Mine:
		message.Used(old)
	case Beside:
		message.RRsetUsed(addresses)
		message.RRsetNotUsed(set)
	case Theirs:
		message.RRsetUsed(set)
	}
	if (e.Require == Mine || e.Require == Theirs) && !e.Keep {
		message.RemoveRRset(set)
	}
	message.Insert(fresh)
	return message, nil
}

// records reads values as records of the edited set.
func (e ZoneEdit) records(values []string) ([]mdns.RR, error) {
	var all []mdns.RR
	for _, value := range values {
		rr, err := mdns.NewRR(fmt.Sprintf("%s %d IN %s %s", e.Name, e.TTL, e.Type, value))
		if err != nil {
			return nil, fmt.Errorf("make a record of %q: %w", value, err)
		}
		all = append(all, rr)
	}
	return all, nil
}
