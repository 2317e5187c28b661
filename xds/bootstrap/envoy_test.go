package bootstrap

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The cluster of Signpost with TLS and a client certificate, for one namespace.
const envoyWithTLS = `
node: {id: envoy, cluster: envoy, metadata: {signpost.dev/namespaces: [shop]}}
dynamic_resources:
  ads_config: {api_type: DELTA_GRPC, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: signpost}}]}
  cds_config: {resource_api_version: V3, ads: {}}
layered_runtime: {layers: [{name: signpost, static_layer: {re2.max_program_size.error_level: 1000}}]}
static_resources:
  clusters:
  - name: signpost
    type: STRICT_DNS
    connect_timeout: 5s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {connection_keepalive: {interval: 30s, timeout: 10s}}}
    load_assignment:
      cluster_name: signpost
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: xds.example, port_value: 8087}}}}]}]
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: xds.example
        common_tls_context:
          tls_certificates: [{certificate_chain: {filename: /cert}, private_key: {filename: /key}}]
          validation_context:
            trusted_ca: {filename: /ca}
            match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: xds.example}}]
`

// Case 62: the configuration of Envoy. The scenes wildcard and mtls of make xds start Envoy with it.
func TestEnvoy(t *testing.T) {
	file, err := Options{Server: "dns:///xds.example:8087", Files: Files{CA: "/ca", Cert: "/cert", Key: "/key"}}.Envoy([]string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	for from, to := range map[string]*any{string(text): &got, envoyWithTLS: &want} {
		if err := yaml.Unmarshal([]byte(from), to); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Addresses need no DNS, and are in certificates as such.
func TestEnvoyWithAddress(t *testing.T) {
	for server, parts := range map[string][]string{
		"192.0.2.1:8087":           {"type: STATIC", "address: 192.0.2.1\n", "san_type: IP_ADDRESS"},
		"dns:///[2001:db8::1]:443": {"type: STATIC", "address: 2001:db8::1\n", "port_value: 443", "san_type: IP_ADDRESS"},
		"xds.example:8087":         {"type: STRICT_DNS", "sni: xds.example"},
	} {
		file, err := Options{Server: server, Files: Files{CA: "/ca"}}.Envoy(nil)
		if err != nil {
			t.Errorf("%s: %v", server, err)
			continue
		}
		text, err := yaml.Marshal(file)
		for _, part := range parts {
			if err != nil || !strings.Contains(string(text), part) {
				t.Errorf("%s: %q is missing (%v) in\n%s", server, part, err, text)
			}
		}
		if strings.Contains(string(text), "metadata") {
			t.Errorf("%s: there are namespaces in\n%s", server, text)
		}
	}
}

func TestEnvoyRefuses(t *testing.T) {
	const server = "xds.example:8087"
	for name, tc := range map[string]struct {
		options Options
		flag    string
	}{
		"no server":               {Options{}, "--server="},
		"no port":                 {Options{Server: "dns:///xds.example"}, "--server="},
		"another scheme":          {Options{Server: "unix:///run/xds:1"}, "--server="},
		"no number":               {Options{Server: "xds.example:http"}, "--server="},
		"a fallback":              {Options{Server: server, Fallback: server}, "--fallback"},
		"an authority":            {Options{Server: server, Authorities: []string{"a"}}, "--authority"},
		"a token":                 {Options{Server: server, Files: Files{CA: "/ca", Token: "/token"}}, "--token-file"},
		"TLS of Services":         {Options{Server: server, Certs: "/certs"}, "--certs"},
		"a certificate alone":     {Options{Server: server, Files: Files{CA: "/ca", Cert: "/cert"}}, "--tls-key"},
		"no authority for itself": {Options{Server: server, Files: Files{Cert: "/cert", Key: "/key"}}, "--tls-ca"},
	} {
		if _, err := tc.options.Envoy(nil); err == nil || !strings.Contains(err.Error(), tc.flag) {
			t.Errorf("%s: error %v, want one about %s", name, err, tc.flag)
		}
	}
}
