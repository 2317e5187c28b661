// Package bootstrap makes the bootstrap file that gRPC clients and Envoy need to find Signpost
// (docs/spec/xds.md §9). The command `signpost xds bootstrap` prints the file.
//
// # Concurrency
//
// Options are values; their methods may be called from any goroutine.
package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
)

// Options say what the file has.
type Options struct {
	// Server is the URI of Signpost, such as dns:///signpost-xds.signpost.svc:8087. Fallback is that
	// of a server that clients ask when Server is unreachable; it may be empty.
	Server, Fallback string
	// Authorities are those that names such as xds://AUTHORITY/web.shop:80 may have.
	Authorities []string
	Files       Files
	// Certs is a directory in the pods of clients with tls.crt, tls.key and ca.crt, for TLS towards
	// endpoints of Services with the annotation signpost.dev/tls; empty for none.
	Certs string
}

// Files are paths in the pods of clients: CA has the authorities that sign Signpost's certificate, Cert
// and Key the client certificate, and Token a token. Each may be empty. Without CA and Cert, clients
// connect without TLS.
type Files struct{ CA, Token, Cert, Key string }

// CertificateProvider is the name of the provider in the bootstrap file that Clusters with TLS ask for.
const CertificateProvider = "default"

type object = map[string]any // in JSON

// File returns the bootstrap file. The error names the flag with a wrong value.
func (o Options) File() (map[string]any, error) {
	server, err := o.Files.credentials()
	if err != nil {
		return nil, err
	}
	// With ignore_resource_deletion, a client keeps using a resource that a server no longer has.
	server["server_features"] = []string{"xds_v3", "ignore_resource_deletion"}
	servers, authorities := []object{}, object{}
	for _, of := range []struct{ flag, uri string }{{"server", o.Server}, {"fallback", o.Fallback}} {
		if of.uri == "" && of.flag == "fallback" {
			continue
		}
		if of.uri == "" || strings.ContainsAny(of.uri, " \t\n\"") {
			return nil, fmt.Errorf("--%s=%s: must be the URI of a gRPC server, such as dns:///signpost-xds.signpost.svc:8087", of.flag, of.uri)
		}
		one := maps.Clone(server)
		one["server_uri"] = of.uri
		servers = append(servers, one)
	}
	for _, a := range o.Authorities {
		if a == "" || url.PathEscape(a) != a || strings.Contains(a, ":") {
			return nil, fmt.Errorf("--authority=%s: must be a name such as signpost", a)
		}
		authorities[a] = object{"client_listener_resource_name_template": "xdstp://" + a + "/envoy.config.listener.v3.Listener/%s"}
	}
	// @grpc/grpc-js-xds 1.14.1 fails without a locality, even an empty one.
	f := object{"xds_servers": servers, "node": object{"id": "signpost", "locality": object{}}, "authorities": authorities}
	if o.Certs != "" {
		dir := strings.TrimSuffix(o.Certs, "/")
		f["certificate_providers"] = object{CertificateProvider: object{"plugin_name": "file_watcher", "config": object{ // gRFC A29
			"certificate_file": dir + "/tls.crt", "private_key_file": dir + "/tls.key", "ca_certificate_file": dir + "/ca.crt",
			// The default of gRFC A29, without which @grpc/grpc-js-xds 1.14.1 refuses the file.
			"refresh_interval": "600s",
		}}}
	}
	return f, nil
}

func (f Files) hasTLS() bool { return f.CA != "" || f.Cert != "" }

// check refuses files that don't go together.
func (f Files) check() error {
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("--tls-cert and --tls-key: one is missing: give both or neither")
	}
	if f.Token != "" && !f.hasTLS() {
		return fmt.Errorf("--token-file=%s: needs --tls-ca, because clients send tokens with TLS only", f.Token)
	}
	return nil
}

// credentials returns the part of an entry of xds_servers about TLS (gRFC A65) and tokens (gRFC A97).
func (f Files) credentials() (object, error) {
	if err := f.check(); err != nil || !f.hasTLS() {
		return object{"channel_creds": []object{{"type": "insecure"}}}, err
	}
	config := object{}
	for key, path := range map[string]string{"ca_certificate_file": f.CA, "certificate_file": f.Cert, "private_key_file": f.Key} {
		if path != "" {
			config[key] = path
		}
	}
	server := object{"channel_creds": []object{{"type": "tls", "config": config}}}
	if f.Token != "" {
		server["call_creds"] = []object{{"type": "jwt_token_file", "config": object{"jwt_token_file": f.Token}}}
	}
	return server, nil
}
