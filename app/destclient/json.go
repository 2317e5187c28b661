package destclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/output"
)

// line is a message, an update or a profile, as one value.
type line struct {
	Time time.Time `json:"time"`
	// Addresses are the addresses in the message.
	Addresses []string        `json:"addresses"`
	Update    json.RawMessage `json:"update,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"`
}

// lines prints messages as values: as lines of JSON, or in another format of package output.
type lines struct {
	out    io.Writer
	now    func() time.Time
	format output.Format
}

func (p lines) restart() {}

func (p lines) done() error { return nil }

// print sets the time, and field to the message, and prints the value.
func (p lines) print(l *line, field *json.RawMessage, m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the message as JSON: %w", err)
	}
	if p.format.Kind != OutputProto {
		if text, err = readable(text); err != nil {
			return err
		}
	}
	l.Time, *field = p.now(), text
	format := p.format
	if format.Kind == OutputProto {
		format.Kind = output.JSON
	}
	return output.PrintNext(p.out, format, output.Result{Value: l, Names: l.Addresses})
}

// readable returns a message in JSON with addresses in their usual notation. Protobuf has numbers
// for them.
func readable(message []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("read the message as JSON: %w", err)
	}
	return json.Marshal(withAddresses(value))
}

// withAddresses returns the value with each IPAddress of the API as text. They are the only objects
// with no other field than ipv4 or ipv6.
func withAddresses(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withAddresses(v[i])
		}
	case map[string]any:
		if address, ok := address(v); ok {
			return address
		}
		for key := range v {
			v[key] = withAddresses(v[key])
		}
	}
	return value
}

func address(object map[string]any) (string, bool) {
	if len(object) != 1 || object["ipv4"] == nil && object["ipv6"] == nil {
		return "", false
	}
	text, err := json.Marshal(object)
	var address netpb.IPAddress
	if err != nil || protojson.Unmarshal(text, &address) != nil {
		return "", false
	}
	return ip(&address).String(), true
}

type updateLines struct{ lines }

func (p updateLines) message(u *pb.Update) error {
	l := &line{Addresses: updateAddrs(u)}
	return p.print(l, &l.Update, u)
}

type profileLines struct{ lines }

func (p profileLines) message(m *pb.DestinationProfile) error {
	l := &line{Addresses: []string{}}
	if e := m.GetEndpoint(); e != nil {
		l.Addresses = append(l.Addresses, AddrPort(e.GetAddr()).String())
	}
	return p.print(l, &l.Profile, m)
}
