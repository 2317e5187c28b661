package bindtest

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(t *testing.T, s *Server, name string, rrtype uint16) *mdns.Msg {
	t.Helper()
	query := new(mdns.Msg)
	query.SetQuestion(name, rrtype)
	client := &mdns.Client{Timeout: 2 * time.Second}
	reply, _, err := client.ExchangeContext(t.Context(), query, s.Addr.String())
	if err != nil {
		t.Fatalf("ask for %s: %v", name, err)
	}
	return reply
}

func TestServer(t *testing.T) {
	s, err := Start(t.Context(), Config{
		Zones: []Zone{{Name: "example.test", Key: "k", Records: "www A 192.0.2.1"}, {Name: "open.test"}},
		Keys:  []Key{{Name: "k", Algorithm: "hmac-sha256", Secret: "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}},
		TLS:   true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, s, "www.example.test.", mdns.TypeA); len(reply.Answer) != 1 || !strings.HasSuffix(reply.Answer[0].String(), "192.0.2.1") {
		t.Errorf("www is %v", reply)
	}
	for zone, want := range map[string]int{"example.test.": mdns.RcodeRefused, "open.test.": mdns.RcodeSuccess} {
		update := new(mdns.Msg)
		update.SetUpdate(zone)
		update.Insert([]mdns.RR{&mdns.TXT{Hdr: mdns.RR_Header{Name: "x." + zone, Rrtype: mdns.TypeTXT, Ttl: 1}, Txt: []string{"x"}}})
		reply, _, err := new(mdns.Client).ExchangeContext(t.Context(), update, s.Addr.String())
		if err != nil || reply.Rcode != want {
			t.Errorf("update of %s without a key: %v, %v", zone, reply, err)
		}
	}
	dir := s.dir
	if err := s.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if err := s.Resume(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process is still there: %v", err)
	}
}

// A server that was killed has what its zones had become, at the same address.
func TestRestart(t *testing.T) {
	s, err := Start(t.Context(), Config{Zones: []Zone{{Name: "example.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	update := new(mdns.Msg)
	update.SetUpdate("example.test.")
	update.Insert([]mdns.RR{&mdns.TXT{Hdr: mdns.RR_Header{Name: "x.example.test.", Rrtype: mdns.TypeTXT, Ttl: 1}, Txt: []string{"x"}}})
	if reply, _, err := new(mdns.Client).ExchangeContext(t.Context(), update, s.Addr.String()); err != nil || reply.Rcode != mdns.RcodeSuccess {
		t.Fatalf("update: %v, %v", reply, err)
	}
	if err := s.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := new(mdns.Client).ExchangeContext(t.Context(), update, s.Addr.String()); err == nil {
		t.Error("a server that was killed answers")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, s, "x.example.test.", mdns.TypeTXT); len(reply.Answer) != 1 {
		t.Errorf("after the restart x is %v", reply)
	}
}

func TestBadConfig(t *testing.T) {
	for want, c := range map[string]Config{
		"no-such-option": {Options: "no-such-option yes;"},
		"192.0.2.256":    {Zones: []Zone{{Name: "example.test", Records: "www A 192.0.2.256"}}},
	} {
		s, err := Start(t.Context(), c)
		if err == nil {
			t.Fatal("started", s.Stop())
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error doesn't say what is wrong: %v", err)
		}
	}
}

// The root is a zone like others.
func TestRoot(t *testing.T) {
	s, err := Start(t.Context(), Config{Zones: []Zone{{Records: "www.example.test. A 192.0.2.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, s, "www.example.test.", mdns.TypeA); len(reply.Answer) != 1 {
		t.Errorf("www is %v", reply)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestKDC(t *testing.T) {
	k, err := StartKDC(t.Context(), KDCConfig{
		Realm: "EXAMPLE.TEST", Users: []User{{Name: "alice", Password: "it's \"open\" sesame"}}, Services: []string{"DNS/localhost"},
	})
	if errors.Is(err, ErrNoKDC) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Config{KDC: k})
	if err != nil {
		t.Error(err)
	} else if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := k.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(k.ConfFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the files are still there: %v", err)
	}
	twice := []User{{Name: "alice", Password: "a"}, {Name: "alice", Password: "b"}}
	k, err = StartKDC(t.Context(), KDCConfig{Realm: "EXAMPLE.TEST", Users: twice})
	if err == nil {
		t.Fatal("started", k.Stop())
	}
	if !strings.Contains(err.Error(), "already exists") {
		t.Errorf("the error doesn't say what is wrong: %v", err)
	}
}
