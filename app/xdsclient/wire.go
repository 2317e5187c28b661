package xdsclient

import (
	"fmt"

	"github.com/signpostd/signpost/internal/wire"
)

// all returns the values of a length-delimited field, up to what can't be parsed.
func all(message []byte, field int) (values [][]byte) {
	for r := wire.Read(message); r.Next(wire.Fields{Bytes: 1 << field}); {
		values = append(values, r.Bytes())
	}
	return values
}

// one returns the first value along a path of fields; nil for none.
func one(message []byte, path ...int) []byte {
	for _, field := range path {
		values := all(message, field)
		if len(values) == 0 {
			return nil
		}
		message = values[0]
	}
	return message
}

func routesIn(configuration []byte) []targetRoute {
	routes := []targetRoute{}
	for _, host := range all(configuration, 2) {
		for _, r := range all(host, 3) {
			routes = append(routes, routeOf(r))
		}
	}
	return routes
}

func routeOf(r []byte) targetRoute {
	match, action := one(r, 1), one(r, 2)
	made := targetRoute{Match: matchOf(match), Clusters: []targetCluster{}}
	if name := one(action, 1); name != nil {
		made.Clusters = []targetCluster{{Name: string(name)}}
	}
	for _, weighted := range all(one(action, 3), 1) {
		weight := wire.Read(one(weighted, 2))
		weight.Next(wire.Fields{Varints: 1 << 1})
		made.Clusters = append(made.Clusters, targetCluster{Name: string(one(weighted, 1)), Weight: weight.Varint})
	}
	return made
}

// matchOf returns the condition of a route. A path and headers may be required together.
func matchOf(match []byte) string {
	text := "all"
	for _, kind := range []struct {
		format string
		path   []int
	}{{"prefix %q", []int{1}}, {"path %q", []int{2}}, {"regexp %q", []int{10, 2}}} {
		if value := one(match, kind.path...); len(value) > 0 {
			text = fmt.Sprintf(kind.format, value)
		}
	}
	for _, header := range all(match, 6) {
		text += fmt.Sprintf(", header %q", one(header, 1))
	}
	return text
}

const tlsType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"

// tlsOf returns the TLS settings of a Cluster; nil if it has no transport socket.
func tlsOf(cluster []byte) *clusterTLS {
	socket := one(cluster, 24)
	if socket == nil {
		return nil
	}
	if string(one(socket, 3, 1)) != tlsType { // typed_config.type_url
		return &clusterTLS{Transport: string(one(socket, 1)), Identities: []identity{}}
	}
	common := one(socket, 3, 2, 1) // typed_config.value.common_tls_context
	validation := one(common, 3)
	if validation == nil {
		validation = one(common, 8, 1) // combined_validation_context.default_validation_context
	}
	made := &clusterTLS{
		ServerName:          string(one(socket, 3, 2, 2)),
		CertificateProvider: string(one(common, 14, 1)), AuthorityProvider: string(one(validation, 13, 1)), Identities: []identity{},
	}
	matchers := all(validation, 9)              // match_subject_alt_names
	for _, typed := range all(validation, 15) { // match_typed_subject_alt_names
		matchers = append(matchers, one(typed, 2))
	}
	for _, matcher := range matchers {
		made.Identities = append(made.Identities, identityOf(matcher))
	}
	return made
}

func identityOf(matcher []byte) identity {
	id := identity{}
	for how, path := range map[string][]int{"exact": {1}, "prefix": {2}, "suffix": {3}, "regex": {5, 2}, "contains": {7}} {
		if value := one(matcher, path...); len(value) > 0 {
			id[how] = string(value)
		}
	}
	return id
}
