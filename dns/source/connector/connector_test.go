package connector

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peerEndpoint is the struct of another program, with other types, another order, pointers and one more
// field.
type peerEndpoint struct {
	Targets          peerTargets
	DNSName          string
	RecordType       string
	RecordTTL        int
	SetIdentifier    string
	Labels           map[string]string
	ProviderSpecific []peerProperty
	Comment          string
}

type peerTargets []string

type peerProperty struct{ Value, Name string }

// serve starts a server that calls do with each connection.
func serve(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			do(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func open(t *testing.T, server string) source.Source {
	t.Helper()
	config := NewConfig()
	config.Server, config.timeout = server, 500*time.Millisecond
	s, err := config.Open(source.Input{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPoll(t *testing.T) {
	for _, test := range []struct {
		name string
		send []*peerEndpoint
		want []*dns.RecordSet
	}{
		{"case 198: an empty list", []*peerEndpoint{}, []*dns.RecordSet{}},
		{
			"case 198: two endpoints",
			[]*peerEndpoint{
				{DNSName: "a.example.com.", Targets: peerTargets{"192.0.2.1", "192.0.2.2"}, RecordType: "A", RecordTTL: 300, Comment: "x"},
				{
					DNSName: "b.example.com", Targets: peerTargets{"c.example.com."}, RecordType: "CNAME", SetIdentifier: "s",
					Labels: map[string]string{"k": "v"}, ProviderSpecific: []peerProperty{{Name: "alias", Value: "true"}},
				},
			},
			[]*dns.RecordSet{
				{Name: "a.example.com", Targets: []string{"192.0.2.1", "192.0.2.2"}, Type: "A", TTL: 300, Labels: map[string]string{}},
				{
					Name: "b.example.com", Targets: []string{"c.example.com"}, Type: "CNAME", SetIdentifier: "s",
					Labels: map[string]string{"k": "v"}, Properties: []dns.Property{{Name: "alias", Value: "true"}},
				},
			},
		},
	} {
		s := open(t, serve(t, func(conn net.Conn) { _ = gob.NewEncoder(conn).Encode(test.send) }))
		for range 2 { // each poll uses a new connection
			got, err := s.Poll(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

func TestPollFails(t *testing.T) {
	unreachable := serve(t, func(net.Conn) {})
	for _, test := range []struct {
		name, server, want string
	}{
		{"case 198: unreachable", "127.0.0.1:1", "check --connector-source-server"},
		{"nothing", unreachable, "nothing was sent"},
		{"no gob", serve(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n") }), "decode a list of endpoints"},
		{"another type", serve(t, func(c net.Conn) { _ = gob.NewEncoder(c).Encode("a") }), "decode a list of endpoints"},
		{"silent", serve(t, func(net.Conn) { <-t.Context().Done() }), "i/o timeout"},
	} {
		got, err := open(t, test.server).Poll(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || got != nil {
			t.Errorf("%s: got %v, %v; want an error with %q", test.name, got, err, test.want)
		}
	}
}

// TestPollEndsWithItsContext shows that the end of the process doesn't wait for a silent server.
func TestPollEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := open(t, serve(t, func(net.Conn) { cancel(); <-t.Context().Done() }))
	if _, err := s.Poll(ctx); err == nil {
		t.Error("no error after the context ended")
	}
}

func TestDecodeBoundsTheSize(t *testing.T) {
	_, err := decode(endless{})
	if !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

// TestDecodeBoundsTheMemory shows that records are counted before they take memory: an element without
// fields takes one byte of the response, and a hundred bytes of memory.
func TestDecodeBoundsTheMemory(t *testing.T) {
	decoded := func(sent any) error {
		var text bytes.Buffer
		if err := gob.NewEncoder(&text).Encode(sent); err != nil {
			t.Fatal(err)
		}
		_, err := decode(&text)
		return err
	}
	if err := decoded(make([]peerEndpoint, recordLimit)); err != nil {
		t.Errorf("got %v for as many records as are allowed", err)
	}
	if err := decoded(make([]peerEndpoint, recordLimit+1)); err == nil || !strings.Contains(err.Error(), "131073 records were sent") {
		t.Errorf("got %v, want an error with the number of records", err)
	}
	if err := decoded([]peerEndpoint{{ProviderSpecific: make([]peerProperty, sizeLimit)}}); !errors.Is(err, errTooLarge) {
		t.Errorf("got %v, want %v", err, errTooLarge)
	}
}

// endless is an endless sequence of type definitions in gob.
type endless struct{}

// Read implements [io.Reader] with messages of the maximum size of gob.
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0xfc // a length of four bytes, then arbitrary bytes
	}
	if len(p) >= 5 {
		copy(p, []byte{0xfc, 0x3f, 0xff, 0xff, 0xff})
	}
	return len(p), nil
}

func TestOpenChecksTheServer(t *testing.T) {
	config := NewConfig()
	config.Server = "localhost"
	if _, err := config.Open(source.Input{}); err == nil || !strings.Contains(err.Error(), "--connector-source-server") {
		t.Errorf("got %v, want an error about the flag", err)
	}
	if _, err := Plugin().New().Open(source.Input{}); err != nil {
		t.Errorf("the default: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, sent := range []any{
		[]*peerEndpoint{}, []*peerEndpoint{{DNSName: "a.", Targets: peerTargets{"b."}, Labels: map[string]string{"a": "b"}}}, "a", 1,
	} {
		var b strings.Builder
		if err := gob.NewEncoder(&b).Encode(sent); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b.String()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := decode(strings.NewReader(string(data)))
		if (err == nil) != (records != nil) {
			t.Fatalf("got %v and the error %v", records, err)
		}
		for _, r := range records {
			if r.Labels == nil || r.Normal() != r {
				t.Errorf("got %+v, which isn't normal", r)
			}
		}
	})
}
