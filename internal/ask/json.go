package ask

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonLine is a message, an update or a profile, as a line of JSON.
type jsonLine struct {
	Time time.Time `json:"time"`
	// Addresses are those in the message, in a form that people can read.
	Addresses []string        `json:"addresses"`
	Update    json.RawMessage `json:"update,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"`
}

// jsonLines prints messages as lines of JSON.
type jsonLines struct {
	out io.Writer
	now func() time.Time
}

func (p jsonLines) restart() {}

func (p jsonLines) done() error { return nil }

// print prints the line, after it has set the time, and the field to the message.
func (p jsonLines) print(line *jsonLine, field *json.RawMessage, m proto.Message) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the message as JSON: %w", err)
	}
	line.Time, *field = p.now(), text
	return json.NewEncoder(p.out).Encode(line)
}

// jsonUpdates prints each update on a line.
type jsonUpdates struct{ jsonLines }

func (p jsonUpdates) message(u *pb.Update) error {
	line := &jsonLine{Addresses: updateAddrs(u)}
	return p.print(line, &line.Update, u)
}

// jsonProfiles prints each profile on a line.
type jsonProfiles struct{ jsonLines }

func (p jsonProfiles) message(m *pb.DestinationProfile) error {
	line := &jsonLine{Addresses: []string{}}
	if e := m.GetEndpoint(); e != nil {
		line.Addresses = append(line.Addresses, AddrPort(e.GetAddr()).String())
	}
	return p.print(line, &line.Profile, m)
}
