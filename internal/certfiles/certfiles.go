// Package certfiles makes TLS configurations from PEM files: of servers whose files are replaced while they
// serve, and of clients.
//
// cert-manager and projected volumes replace certificates before they expire. [Files.Server] reads the files
// at the start, where an error is fatal, and again if they have changed when a client connects. If the new
// files can't be used, the reason is logged and the previous ones stay in use: a certificate and its key are
// two files, and one of them may be newer for a moment. An expired certificate doesn't replace a valid one.
// If the certificate in use expires, that is logged when a client connects. The xds role uses it. DNS
// providers and `signpost xds get` use [ClientFiles], whose certificate is read again for each connection.
//
// # Concurrency
//
// The configuration may be used from any goroutine.
package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files are the paths of PEM files.
type Files struct {
	// Cert has the certificate chain of the server, and Key its private key.
	Cert, Key string
	// ClientCA has the certificate authorities of clients. If it is empty, clients need no certificate;
	// otherwise a client without a valid certificate is refused.
	ClientCA string
}

// checkInterval is the shortest time between two checks whether the files have changed.
const checkInterval = 5 * time.Second

// Server returns a configuration for a gRPC server, which always uses the newest valid files.
func (f Files) Server(log *slog.Logger) (*tls.Config, error) {
	s := &server{files: f, log: log}
	stamp, err := f.stamp()
	if err != nil {
		return nil, err
	}
	if s.current, err = f.read(); err != nil {
		return nil, err
	}
	s.stamp, s.checked = stamp, time.Now()
	s.checkValidity(s.checked)
	follow := s.current.Clone()
	follow.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.config(time.Now()), nil }
	return follow, nil
}

func (f Files) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s and its key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
	if f.ClientCA == "" {
		return c, nil
	}
	text, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("read the authorities of clients: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the authorities of clients: %s has no certificate in PEM form", f.ClientCA)
	}
	return c, nil
}

// version identifies a version of the files by their sizes and modification times.
type version [3]struct {
	size     int64
	modified time.Time
}

func (f Files) stamp() (v version, err error) {
	for i, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return version{}, err
		}
		v[i].size, v[i].modified = info.Size(), info.ModTime()
	}
	return v, nil
}

// server has the newest valid configuration.
type server struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Config
	// stamp is the version of the files that current was read from, and checked the time of the last check.
	stamp   version
	checked time.Time
	// failing is true while the newest files can't be used.
	failing bool
	// invalid is true while the certificate of current has expired, or isn't valid yet.
	invalid bool
}

// config returns the configuration for a new connection.
func (s *server) config(now time.Time) *tls.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.checked) < checkInterval {
		return s.current
	}
	s.checked = now
	s.checkValidity(now)
	stamp, err := s.files.stamp()
	if err == nil && stamp != s.stamp {
		var read *tls.Config
		if read, err = s.files.read(); err == nil && !s.invalid {
			err = s.files.validAt(read, now)
		}
		if err == nil {
			s.current, s.stamp = read, stamp
			s.log.Info("Certificate was replaced", "file", s.files.Cert)
			s.checkValidity(now)
		}
	}
	if err != nil && !s.failing {
		s.log.Error("Certificate files can't be used: the previous ones stay in force", "err", err)
	}
	s.failing = err != nil
	return s.current
}

// checkValidity logs once if the certificate of current isn't valid.
func (s *server) checkValidity(now time.Time) {
	err := s.files.validAt(s.current, now)
	if err != nil && !s.invalid {
		s.log.Warn("Certificate is not valid now, so that clients refuse it", "err", err)
	}
	s.invalid = err != nil
}

// validAt returns an error if the certificate of the server isn't valid at a time.
func (f Files) validAt(c *tls.Config, now time.Time) error {
	switch leaf := c.Certificates[0].Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the certificate %s expired at %s: renew it", f.Cert, leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate %s is not valid before %s: check the clock of this node", f.Cert, leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}
