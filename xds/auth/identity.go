package auth

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Identity is the authenticated identity of a client. Pod and Node may be empty.
type Identity struct{ Namespace, Pod, Node string }

// Authenticator returns the identity of the client of a call. The error is a status.
type Authenticator func(context.Context) (Identity, error)

func refusef(format string, values ...any) error {
	return status.Errorf(codes.Unauthenticated, format, values...)
}

// Certificates returns an authenticator for client certificates that TLS has verified. Their only URI
// is the SPIFFE ID of a service account (gRFC A65) in one of the trust domains.
func Certificates(trustDomains []string) Authenticator {
	return func(ctx context.Context) (Identity, error) {
		var info credentials.TLSInfo
		if p, ok := peer.FromContext(ctx); ok {
			info, _ = p.AuthInfo.(credentials.TLSInfo)
		}
		if len(info.State.VerifiedChains) == 0 {
			return Identity{}, refusef("the connection has no client certificate")
		}
		uris := info.State.VerifiedChains[0][0].URIs
		if len(uris) != 1 {
			return Identity{}, refusef("the client certificate has %d URIs, and needs one: spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/SERVICE-ACCOUNT", len(uris))
		}
		if domain := uris[0].Host; domain != "" && !slices.Contains(trustDomains, domain) {
			return Identity{}, refusef("the client certificate is of the trust domain %.100q, and xDS is served to %s (--xds-client-trust-domains)",
				domain, strings.Join(trustDomains, ", "))
		}
		id, parts := uris[0], strings.Split(uris[0].Path, "/")
		if id.Scheme != "spiffe" || id.Host == "" || len(parts) != 5 || parts[1] != "ns" || parts[3] != "sa" || parts[2] == "" || parts[4] == "" {
			return Identity{}, refusef("the URI of the client certificate is not spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/SERVICE-ACCOUNT")
		}
		return Identity{Namespace: parts[2]}, nil
	}
}

const authorization = "authorization"

// Headers returns the names of the headers that identify clients.
func Headers() []string { return []string{authorization} }

func bearer(ctx context.Context) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, authorization)
	if len(values) != 1 {
		return "", refusef("the call has %d authorization headers, and needs one: a service account token with the audience %s; clients in Go and Python send it with GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS=true", len(values), Audience)
	}
	kind, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return "", refusef("the authorization header is not \"Bearer TOKEN\"")
	}
	if len(token) > maxToken {
		return "", refusef("the token has %d bytes, and may have %d", len(token), maxToken)
	}
	return token, nil
}
