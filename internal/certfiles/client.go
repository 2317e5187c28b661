package certfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// ClientFiles are the paths of PEM files of a client, or the names of the settings with these paths; empty
// means none.
type ClientFiles struct {
	// CA has the authorities of servers, Cert the certificate chain of the client, and Key its private key.
	CA, Cert, Key string
}

// AddTo reads the files into a TLS configuration: CA into its roots, Cert and Key into its certificates. An
// error names the faulty setting.
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
	config.Certificates = []tls.Certificate{pair}
	return nil
}
