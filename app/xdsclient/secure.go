package xdsclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/signpostd/signpost/app/settings"
)

// TLS has the files of a client of a server with TLS, and the name in the certificate of the server.
type TLS struct {
	CA, Cert, Key, TokenFile, ServerName string
}

// credentials returns the credentials of the connection; nil for one without TLS.
func (o TLS) credentials() (credentials.TransportCredentials, error) {
	if o.CA == "" {
		if o.TokenFile != "" || o.Cert != "" || o.Key != "" || o.ServerName != "" {
			return nil, settings.Usagef("--tls-ca: empty: the other flags about TLS and tokens need the certificates of the authorities")
		}
		return nil, nil
	}
	pem, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: o.ServerName, MinVersion: tls.VersionTLS12}
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, settings.Usagef("--tls-ca=%s: no certificate in PEM", o.CA)
	}
	if o.Cert != "" || o.Key != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(c), nil
}

// withToken returns a context whose calls have the token of the file, if there is one.
func (o TLS) withToken(ctx context.Context) (context.Context, error) {
	if o.TokenFile == "" {
		return ctx, nil
	}
	token, err := os.ReadFile(o.TokenFile)
	text := strings.TrimSpace(string(token))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--token-file: %w", err)
	case text == "":
		return nil, settings.Usagef("--token-file=%s: empty", o.TokenFile)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+text), nil
}
