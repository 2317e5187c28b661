package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
)

// ClientFiles are the paths of PEM files of a client, or the names of the settings with these paths; empty
// means none.
type ClientFiles struct {
	// CA has the authorities of servers, Cert the certificate chain of the client, and Key its private key.
	CA, Cert, Key string
}

// AddTo reads the files into a TLS configuration: CA into its roots, Cert and Key into the certificate of the
// client. An error names the faulty setting. Cert and Key are read again for each connection.
func (f ClientFiles) AddTo(config *tls.Config, settings ClientFiles) error {
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return fmt.Errorf("%s: %w", settings.CA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: the file %s has no certificate in PEM form", settings.CA, f.CA)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return nil
	}
	pair, err := tls.Certificate{}, errors.New("one is missing: give both or neither")
	if f.Cert != "" && f.Key != "" {
		pair, err = tls.LoadX509KeyPair(f.Cert, f.Key)
	}
	if err != nil {
		return fmt.Errorf("%s and %s: %w", settings.Cert, settings.Key, err)
	}
	config.GetClientCertificate = (&clientPair{files: f, last: pair}).newest
	return nil
}

type clientPair struct {
	files ClientFiles

	mu sync.Mutex
	// last is the last certificate that had its key.
	last tls.Certificate
}

// newest implements [tls.Config.GetClientCertificate]. Certificates are replaced before they expire. If the
// files can't be used, the previous ones stay in use: one of the two may be newer for a moment.
func (p *clientPair) newest(request *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pair, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key); err == nil {
		p.last = pair
	}
	current := p.last
	if request.SupportsCertificate(&current) != nil {
		// The server accepts only certificates of other authorities. An empty certificate means none.
		return &tls.Certificate{}, nil
	}
	return &current, nil
}
