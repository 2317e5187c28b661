// Package bootstrap makes the bootstrap file that gRPC clients and Envoy need to find Signpost (docs/spec/xds.md §9).
//
// The command `signpost xds bootstrap` prints the file. For gRPC clients, the format is that of the gRPC proposals A27,
// A47 and A71.
//
// # Concurrency
//
// Options are values; their methods may be called from any goroutine.
package bootstrap

import (
	"fmt"
	"net/url"
	"strings"
)

// Options say what the file has.
type Options struct {
	// Server is the URI of Signpost, such as dns:///signpost-xds.signpost.svc:8087. Fallback is that of a server that
	// clients ask when Server is unreachable; it may be empty.
	Server, Fallback string
	// Authorities are those that names such as xds://AUTHORITY/web.shop:80 may have.
	Authorities []string
	// Files are paths in the pods of clients: of the authorities that sign the certificate of Signpost, of a token, and of
	// a client certificate and its key. Without CA and Cert, clients connect without TLS.
	Files Files
	// Certs is a directory in the pods of clients with tls.crt, tls.key and ca.crt, for TLS towards endpoints of Services
	// with the annotation signpost.dev/tls; empty for none.
	Certs string
}

// Files are the paths of files; empty for none.
type Files struct {
	CA, Token, Cert, Key string
}

// File is a bootstrap file.
type File struct {
	Servers     []Server             `json:"xds_servers"`
	Node        Node                 `json:"node"`
	Authorities map[string]Authority `json:"authorities"`
	Providers   map[string]Provider  `json:"certificate_providers,omitempty"`
}

// Provider is an entry of certificate_providers (gRFC A29).
type Provider struct {
	Plugin string            `json:"plugin_name"`
	Config map[string]string `json:"config"`
}

// CertificateProvider is the name of the provider in the bootstrap file that Clusters with TLS ask for.
const CertificateProvider = "default"

// Server is an entry of xds_servers.
type Server struct {
	URI         string        `json:"server_uri"`
	Credentials []Credentials `json:"channel_creds"`
	// Tokens are the tokens of calls (gRFC A97).
	Tokens   []Credentials `json:"call_creds,omitempty"`
	Features []string      `json:"server_features"`
}

// Credentials say how a client connects, or what it sends with calls.
type Credentials struct {
	Type   string            `json:"type"`
	Config map[string]string `json:"config,omitempty"`
}

// Node says who a client is. @grpc/grpc-js-xds 1.14.1 fails without a locality, even an empty one.
type Node struct {
	ID       string   `json:"id"`
	Locality struct{} `json:"locality"`
}

// Authority is an entry of authorities.
type Authority struct {
	Template string `json:"client_listener_resource_name_template"`
}

// File returns the bootstrap file. The error names the flag with a wrong value.
func (o Options) File() (File, error) {
	channel, tokens, err := o.Files.credentials()
	if err != nil {
		return File{}, err
	}
	f := File{Node: Node{ID: "signpost"}, Authorities: map[string]Authority{}}
	for _, of := range []struct{ flag, uri string }{{"server", o.Server}, {"fallback", o.Fallback}} {
		if of.uri == "" && of.flag == "fallback" {
			continue
		}
		if err := checkURI(of.uri); err != nil {
			return File{}, fmt.Errorf("--%s=%s: %w", of.flag, of.uri, err)
		}
		f.Servers = append(f.Servers, Server{
			URI: of.uri, Credentials: []Credentials{channel}, Tokens: tokens,
			// A client that knows the second feature keeps what it has when a server lacks it.
			Features: []string{"xds_v3", "ignore_resource_deletion"},
		})
	}
	for _, a := range o.Authorities {
		if a == "" || url.PathEscape(a) != a || strings.Contains(a, ":") {
			return File{}, fmt.Errorf("--authority=%s: must be a name such as signpost", a)
		}
		f.Authorities[a] = Authority{Template: "xdstp://" + a + "/envoy.config.listener.v3.Listener/%s"}
	}
	if o.Certs != "" {
		dir := strings.TrimSuffix(o.Certs, "/")
		f.Providers = map[string]Provider{CertificateProvider: {Plugin: "file_watcher", Config: map[string]string{
			"certificate_file": dir + "/tls.crt", "private_key_file": dir + "/tls.key", "ca_certificate_file": dir + "/ca.crt",
			// The default of gRFC A29, without which @grpc/grpc-js-xds 1.14.1 refuses the file.
			"refresh_interval": "600s",
		}}}
	}
	return f, nil
}

// credentials returns how clients connect, and the tokens that they send (gRFCs A65 and A97).
func (f Files) credentials() (channel Credentials, tokens []Credentials, err error) {
	if (f.Cert == "") != (f.Key == "") {
		return channel, nil, fmt.Errorf("--tls-cert and --tls-key: one is missing: give both or neither")
	}
	if f.CA == "" && f.Cert == "" {
		if f.Token != "" {
			return channel, nil, fmt.Errorf("--token-file=%s: needs --tls-ca, because clients send tokens with TLS only", f.Token)
		}
		return Credentials{Type: "insecure"}, nil, nil
	}
	channel = Credentials{Type: "tls", Config: map[string]string{}}
	for key, path := range map[string]string{"ca_certificate_file": f.CA, "certificate_file": f.Cert, "private_key_file": f.Key} {
		if path != "" {
			channel.Config[key] = path
		}
	}
	if f.Token != "" {
		tokens = []Credentials{{Type: "jwt_token_file", Config: map[string]string{"jwt_token_file": f.Token}}}
	}
	return channel, tokens, nil
}

// checkURI refuses what a client of gRPC can't dial.
func checkURI(uri string) error {
	if uri == "" || strings.ContainsAny(uri, " \t\n\"") {
		return fmt.Errorf("must be the URI of a gRPC server, such as dns:///signpost-xds.signpost.svc:8087")
	}
	return nil
}
