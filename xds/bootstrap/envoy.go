package bootstrap

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const serverCluster = "signpost" // the cluster with the replicas of Signpost

// Envoy returns a configuration (envoy.config.bootstrap.v3.Bootstrap) that subscribes Envoy to the
// Clusters of namespaces, by default that of its pod, and lets its other resources get theirs by
// `ads: {}` (docs/spec/xds.md §8). The error names the flag with a wrong value.
func (o Options) Envoy(namespaces []string) (map[string]any, error) {
	if err := o.fitsEnvoy(); err != nil {
		return nil, err
	}
	cluster, err := o.envoyCluster()
	if err != nil {
		return nil, err
	}
	node := object{"id": "envoy", "cluster": "envoy"}
	if len(namespaces) > 0 {
		node["metadata"] = object{"signpost.dev/namespaces": namespaces}
	}
	return object{
		"node": node,
		"dynamic_resources": object{
			"ads_config": object{
				"api_type": "DELTA_GRPC", "transport_api_version": "V3",
				"grpc_services": []any{object{"envoy_grpc": object{"cluster_name": serverCluster}}},
			},
			"cds_config": object{"resource_api_version": "V3", "ads": object{}},
		},
		"static_resources": object{"clusters": []any{cluster}},
		"layered_runtime":  object{"layers": []any{object{"name": "signpost", "static_layer": object{"re2.max_program_size.error_level": MaxProgramSize}}}},
	}, nil
}

// MaxProgramSize is the number of RE2 instructions that Envoy allows a regular expression. Envoy
// rejects all routes of a resource with a larger expression. Its default is 100, which a long path
// in a ServiceProfile exceeds.
const MaxProgramSize = 1000

func (o Options) fitsEnvoy() error {
	switch {
	case o.Fallback != "":
		return errors.New("--fallback: Envoy has one server: leave it out")
	case len(o.Authorities) > 0:
		return errors.New("--authority: the configuration of Envoy has no authorities: leave it out")
	case o.Files.Token != "":
		return errors.New("--token-file: Envoy sends no tokens of files: use --tls-cert and --tls-key")
	case o.Certs != "":
		return errors.New("--certs: Envoy has no certificate providers for the TLS of Services: leave it out")
	}
	return nil
}

func (o Options) envoyCluster() (object, error) {
	host, port, err := hostPort(o.Server)
	if err != nil {
		return nil, fmt.Errorf("--server=%s: %w", o.Server, err)
	}
	discovery, name := "STRICT_DNS", "DNS"
	if _, err := netip.ParseAddr(host); err == nil {
		discovery, name = "STATIC", "IP_ADDRESS"
	}
	cluster := object{
		"name": serverCluster, "type": discovery, "connect_timeout": "5s",
		"typed_extension_protocol_options": object{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": object{
			"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": object{"http2_protocol_options": object{
				// Pings find a dead connection, as gRPC clients do.
				"connection_keepalive": object{"interval": "30s", "timeout": "10s"},
			}},
		}},
		"load_assignment": object{"cluster_name": serverCluster, "endpoints": []any{object{"lb_endpoints": []any{object{
			"endpoint": object{"address": object{"socket_address": object{"address": host, "port_value": port}}},
		}}}}},
	}
	tls, err := o.Files.envoyTLS(host, name)
	if tls != nil {
		cluster["transport_socket"] = object{"name": "envoy.transport_sockets.tls", "typed_config": tls}
	}
	return cluster, err
}

// envoyTLS returns the TLS context of the connection; nil without TLS. It requires a certificate
// for host, which is a DNS name or an IP address (kind), because Envoy otherwise accepts a
// certificate for any name.
func (f Files) envoyTLS(host, kind string) (object, error) {
	if err := f.check(); err != nil || !f.hasTLS() {
		return nil, err
	}
	if f.CA == "" {
		return nil, errors.New("--tls-cert: needs --tls-ca, because Envoy has no authorities of its own")
	}
	common := object{"validation_context": object{
		"trusted_ca":                    object{"filename": f.CA},
		"match_typed_subject_alt_names": []any{object{"san_type": kind, "matcher": object{"exact": host}}},
	}}
	if f.Cert != "" {
		common["tls_certificates"] = []any{object{"certificate_chain": object{"filename": f.Cert}, "private_key": object{"filename": f.Key}}}
	}
	tls := object{"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", "common_tls_context": common}
	if kind == "DNS" {
		tls["sni"] = host
	}
	return tls, nil
}

// hostPort returns the host and the port of a server such as dns:///signpost-xds.signpost.svc:8087,
// with or without the scheme.
func hostPort(server string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(strings.TrimPrefix(server, "dns:///"))
	n, wrong := strconv.ParseUint(text, 10, 16)
	if err != nil || wrong != nil || n == 0 || host == "" || strings.ContainsAny(host, "/ \t\n\"") {
		return "", 0, errors.New("must be a host and a port for Envoy, such as dns:///signpost-xds.signpost.svc:8087")
	}
	return host, uint16(n), nil
}
