package xdsclient

import (
	"fmt"
	"iter"
	"math"

	"github.com/signpostd/signpost/internal/wire"
)

// fields returns the length-delimited fields of a message, up to the first one that can't be
// parsed.
func fields(message []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for r := wire.Read(message); r.Next(wire.Fields{Bytes: math.MaxUint64}) && yield(r.Number, r.Bytes()); {
		}
	}
}

// all returns the values of a field, and one the first of them along a path of fields.
func all(message []byte, field int) (values [][]byte) {
	for number, value := range fields(message) {
		if number == field {
			values = append(values, value)
		}
	}
	return values
}

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

// routesIn returns the routes of a RouteConfiguration.
func routesIn(configuration []byte) []targetRoute {
	routes := []targetRoute{}
	for _, host := range all(configuration, 2) {
		for _, r := range all(host, 3) {
			routes = append(routes, routeOf(r))
		}
	}
	return routes
}

// routeOf returns a route with the names and weights of its Clusters.
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

func matchOf(match []byte) string {
	text := "all"
	for number, value := range fields(match) {
		switch {
		case number == 1 && len(value) > 0:
			text = fmt.Sprintf("prefix %q", value)
		case number == 2:
			text = fmt.Sprintf("path %q", value)
		case number == 10:
			text = fmt.Sprintf("regexp %q", one(value, 2))
		case number == 6:
			text += fmt.Sprintf(", header %q", one(value, 1))
		}
	}
	return text
}

// tlsType is the type of the transport socket of a Cluster with TLS.
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

// identityOf returns the pattern of a StringMatcher.
func identityOf(matcher []byte) identity {
	id := identity{}
	for how, path := range map[string][]int{"exact": {1}, "prefix": {2}, "suffix": {3}, "regex": {5, 2}, "contains": {7}} {
		if value := one(matcher, path...); len(value) > 0 {
			id[how] = string(value)
		}
	}
	return id
}
