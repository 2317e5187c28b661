package xdsclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/certfiles"
)

// TLS has the files of a client of a server with TLS, and the name in the certificate of the server.
type TLS struct {
	certfiles.ClientFiles
	TokenFile, ServerName string
}

// credentials returns the credentials of the connection; nil for one without TLS.
func (o TLS) credentials() (credentials.TransportCredentials, error) {
	if o == (TLS{}) {
		return nil, nil
	}
	if o.CA == "" {
		return nil, settings.Usagef("--tls-ca: empty: the other flags about TLS and tokens need the certificates of the authorities")
	}
	c := &tls.Config{ServerName: o.ServerName, MinVersion: tls.VersionTLS12}
	if err := o.AddTo(c, certfiles.ClientFiles{CA: "--tls-ca", Cert: "--tls-cert", Key: "--tls-key"}); err != nil {
		return nil, settings.AsUsage(err)
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
