package bindtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/internal/childprocess"

	"github.com/signpostd/signpost/testkit/certtest"
)

// attempts is how often the start is tried, because another process may take the chosen port first.
const attempts = 3

// Server is a running named.
type Server struct {
	// Addr is the address for UDP and TCP, TLSAddr the address for TLS.
	Addr, TLSAddr netip.AddrPort
	// CertFile is the PEM file of the self-signed certificate for TLS.
	CertFile string

	instance
	path          string // of the program
	config        Config
	id            string
	port, tlsPort uint16
}

// Start starts a server and waits until it responds. The server runs until Stop is called, even after the end
// of ctx.
func Start(ctx context.Context, c Config) (*Server, error) {
	program, err := childprocess.Find("named")
	if err != nil {
		return nil, fmt.Errorf("start named: %w, or install BIND 9.18 or later", err)
	}
	s, err := onFreePorts(ctx, func() (*Server, error) { return start(ctx, program, c) })
	if err != nil {
		return nil, fmt.Errorf("start named: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, program string, c Config) (*Server, error) {
	dir, err := os.MkdirTemp("", "bindtest-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	s := &Server{instance: instance{program: "named", dir: dir}, path: program, config: c, id: rand.Text()}
	err = s.prepare(c)
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.waitReady(ctx, s.ready); err != nil {
		said := s.Log()
		if strings.Contains(said, "address already in use") {
			err = errPortTaken
		}
		return nil, errors.Join(fmt.Errorf("%w; it said:\n%s", err, lastLines(said)), s.Stop())
	}
	return s, nil
}

// errPortTaken is returned if another process took the port first.
var errPortTaken = errors.New("the port is taken")

// onFreePorts retries start if the chosen ports were taken.
func onFreePorts[T any](ctx context.Context, start func() (T, error)) (started T, err error) {
	var errs []error
	for range attempts {
		if started, err = start(); err == nil {
			return started, nil
		}
		if errs = append(errs, err); ctx.Err() != nil || !errors.Is(err, errPortTaken) {
			break
		}
	}
	return started, errors.Join(errs...)
}

// lastLines returns the last lines of a log.
func lastLines(log string) string {
	lines := strings.SplitAfter(log, "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "")
}

// prepare chooses ports and writes the files.
func (s *Server) prepare(c Config) error {
	var err error
	if s.port, err = childprocess.Port(); err != nil {
		return err
	}
	if s.tlsPort, err = childprocess.Port(); err != nil {
		return err
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	s.Addr = netip.AddrPortFrom(loopback, s.port)
	if c.TLS {
		s.TLSAddr = netip.AddrPortFrom(loopback, s.tlsPort)
		s.CertFile = filepath.Join(s.dir, "cert.pem")
		if err := certtest.WriteSelfSigned(s.CertFile, s.keyFile(), "bindtest", loopback); err != nil {
			return err
		}
	}
	for i, z := range c.Zones {
		if err := os.WriteFile(zoneFile(s.dir, i), []byte(z.Contents()), 0o600); err != nil {
			return fmt.Errorf("write zone %s: %w", z.Name, err)
		}
	}
	if err := os.WriteFile(s.confFile(), []byte(c.conf(s)), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// launch starts named, which reads the Kerberos settings from its environment.
func (s *Server) launch() error {
	cmd := exec.Command(s.path, "-g", "-n", "1", "-c", s.confFile())
	if c := s.config; c.KDC != nil {
		// By default all processes of a user share one replay cache; this gives named its own.
		cmd.Env = append(os.Environ(), "KRB5_CONFIG="+c.KDC.ConfFile, "KRB5RCACHENAME=file2:"+filepath.Join(s.dir, "rcache"))
	}
	process, err := launch(cmd, s.logFile())
	if err == nil {
		s.process = process
	}
	return err
}

// ready reports whether the server responds, and is not another one on the same port.
func (s *Server) ready(ctx context.Context) (bool, error) {
	log := s.Log()
	if strings.Contains(log, "not loaded due to errors") {
		return false, errors.New("a zone can't be loaded")
	}
	return strings.Contains(log, "all zones loaded") && s.answers(ctx), nil
}

// answers queries the server's identity (RFC 4892) and reports whether it is s.id.
func (s *Server) answers(ctx context.Context) bool {
	query := new(mdns.Msg)
	query.SetQuestion("id.server.", mdns.TypeTXT)
	query.Question[0].Qclass = mdns.ClassCHAOS
	client := &mdns.Client{Net: "tcp", Timeout: time.Second}
	reply, _, err := client.ExchangeContext(ctx, query, s.Addr.String())
	if err != nil || len(reply.Answer) != 1 {
		return false
	}
	txt, ok := reply.Answer[0].(*mdns.TXT)
	return ok && len(txt.Txt) == 1 && txt.Txt[0] == s.id
}

// Transfer returns the records of a zone, with the SOA first and last. The request is signed with the key,
// which is an hmac-sha256 one.
func (s *Server) Transfer(zone string, key Key) ([]mdns.RR, error) {
	name := mdns.Fqdn(key.Name)
	query := new(mdns.Msg)
	query.SetAxfr(mdns.Fqdn(zone))
	query.SetTsig(name, mdns.HmacSHA256, 300, time.Now().Unix())
	envelopes, err := (&mdns.Transfer{TsigSecret: map[string]string{name: key.Secret}}).In(query, s.Addr.String())
	if err != nil {
		return nil, fmt.Errorf("transfer %s: %w", zone, err)
	}
	var all []mdns.RR
	for envelope := range envelopes {
		if envelope.Error != nil {
			err = fmt.Errorf("transfer %s: %w", zone, envelope.Error)
		}
		all = append(all, envelope.RR...)
	}
	return all, err
}

// Pause stops all threads of the server until Resume, and waits until they have stopped. Its connections stay
// open and its ports taken.
func (s *Server) Pause(ctx context.Context) error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		stopped, err := s.stopped()
		if err != nil || stopped {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pause named: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// stopped reports whether each thread of the server is stopped (proc(5), state T).
func (s *Server) stopped() (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.process.Pid()))
	if err != nil {
		return false, fmt.Errorf("find the threads of named: %w", err)
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			return false, fmt.Errorf("see whether named is stopped: %w", err)
		}
		// The state follows the name of the program, which is in parentheses.
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}

// Resume ends a Pause.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

// Kill ends the server with SIGKILL, even if it is paused, and waits for its end. Its files are kept for
// Restart.
func (s *Server) Kill() error {
	if err := s.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.process.Exited()
	return nil
}

// Restart starts the server again after Kill, at the same addresses and with the same zone contents, and
// waits until it responds. Its log starts anew.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.launch(); err != nil {
		return fmt.Errorf("start named again: %w", err)
	}
	if err := s.waitReady(ctx, s.ready); err != nil {
		return fmt.Errorf("start named again: %w; it said:\n%s", err, lastLines(s.Log()))
	}
	return nil
}

func (s *Server) signal(sig syscall.Signal) error {
	if err := s.process.Signal(sig); err != nil {
		return fmt.Errorf("send %s to named: %w", sig, err)
	}
	return nil
}

func (s *Server) confFile() string { return filepath.Join(s.dir, "named.conf") }
func (s *Server) keyFile() string  { return filepath.Join(s.dir, "key.pem") }
