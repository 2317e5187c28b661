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
	// Person is the Replica in the recorded writes of the person.
	Person = "person"

	// fudge is how many seconds after its signature the name server accepts a message (RFC 8945, section
	// 5.2.3). A paused server refuses the message later, so an update can't be applied after the next one.
	fudge = 3
	// responseTimeout is longer than fudge, so an update without response by then is never applied.
	responseTimeout = (fudge + 2) * time.Second
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
	sent := max(z.recorder.Now(), 1) // the recorder replaces zero by the current time
	began := time.Now()
	rcode, err := z.exchange(ctx, message)
	write := history.Write{
		Replica: Person, Status: rcode, Update: &history.UpdateWrite{Zone: z.name, Names: []string{e.Zone.Name}, Message: packed},
	}
	if rcode >= 0 {
		write.Responded = z.recorder.Now()
	}
	z.recorder.Record(history.Entry{At: sent, Write: &write})
	if err != nil {
		return z.noResponse(ctx, began, err)
	}
	switch rcode {
	case mdns.RcodeSuccess:
		return made, nil
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset, mdns.RcodeNXRrset, mdns.RcodeNameError:
		return pointless, nil
	case mdns.RcodeServerFailure, mdns.RcodeNotAuth: // it is starting, or the message was too old
		return retry, fmt.Errorf("the name server answers %s", mdns.RcodeToString[rcode])
	default:
		return failed, fmt.Errorf("the name server answers %s", mdns.RcodeToString[rcode])
	}
}

// noResponse waits until an update without response can't be applied any more.
func (z *zone) noResponse(ctx context.Context, began time.Time, err error) (outcome, error) {
	var refused dialError
	if errors.As(err, &refused) {
		return retry, err // it was never sent
	}
	if ended := wait(ctx, responseTimeout-time.Since(began)); ended != nil {
		return retry, ended
	}
	return retry, err
}

// dialError is a failure to connect.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// exchange sends a message over its own connection, and returns the response code, or -1 without a response.
func (z *zone) exchange(ctx context.Context, message *mdns.Msg) (int, error) {
	keyName := mdns.Fqdn(z.key.Name)
	client := &mdns.Client{Net: "tcp", Timeout: responseTimeout, TsigSecret: map[string]string{keyName: z.key.Secret}}
	conn, err := client.DialContext(ctx, z.server.String())
	if err != nil {
		return -1, dialError{fmt.Errorf("connect to the name server: %w", err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	message.SetTsig(keyName, mdns.Fqdn(z.key.Algorithm), fudge, time.Now().Unix())
	response, _, err := client.ExchangeWithConnContext(ctx, message, conn)
	if response != nil && response.Rcode != mdns.RcodeSuccess {
		return response.Rcode, nil // even if unsigned, as with a wrong time
	}
	if err != nil {
		return -1, fmt.Errorf("update %s: %w", z.name, err)
	}
	return response.Rcode, nil
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

// records parses values as records of the edited set.
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
