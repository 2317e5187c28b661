package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSFiles are the paths of PEM files; empty means none.
type TLSFiles struct {
	CA, Cert, Key string
}

// AddTo reads the files of [Input].TLS into a TLS configuration: CA for its roots, Cert and Key for
// its certificate.
func (f TLSFiles) AddTo(config *tls.Config) error {
	return ReadTLSFiles(config, f, TLSFlags())
}

// TLSFlags returns the names of the flags for [Input].TLS.
func TLSFlags() TLSFiles {
	return TLSFiles{CA: "--tls-ca", Cert: "--tls-client-cert", Key: "--tls-client-cert-key"}
}

// ReadTLSFiles is [TLSFiles.AddTo] for files from other settings. An error names the faulty
// setting.
func ReadTLSFiles(config *tls.Config, files, settings TLSFiles) error {
	if files.CA != "" {
		text, err := os.ReadFile(files.CA)
		if err != nil {
			return fmt.Errorf("%s: %w", settings.CA, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: the file %s has no certificate in PEM form", settings.CA, files.CA)
		}
	}
	if files.Cert == "" && files.Key == "" {
		return nil
	}
	pair, err := tls.Certificate{}, errors.New("one is missing: give both or neither")
	if files.Cert != "" && files.Key != "" {
		pair, err = tls.LoadX509KeyPair(files.Cert, files.Key)
	}
	if err != nil {
		return fmt.Errorf("%s and %s: %w", settings.Cert, settings.Key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}
