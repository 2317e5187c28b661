package resource

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is a type of resource.
type Type uint8

// The types of resource, in the order in which a client needs changes of them. Endpoints are those of
// ClusterLoadAssignments.
const (
	Cluster Type = iota
	Endpoints
	Listener
	RouteConfiguration
)

// The type URLs of the resources.
const (
	typePrefix            = "type.googleapis.com/"
	ListenerURL           = typePrefix + "envoy.config.listener.v3.Listener"
	RouteConfigurationURL = typePrefix + "envoy.config.route.v3.RouteConfiguration"
	ClusterURL            = typePrefix + "envoy.config.cluster.v3.Cluster"
	EndpointsURL          = typePrefix + "envoy.config.endpoint.v3.ClusterLoadAssignment"
)

var urls = [...]string{ClusterURL, EndpointsURL, ListenerURL, RouteConfigurationURL}

// TypeOf returns the type with a URL.
func TypeOf(url string) (t Type, ok bool) {
	i := slices.Index(urls[:], url)
	return Type(max(i, 0)), i >= 0
}

// URL returns the type URL.
func (t Type) URL() string { return urls[t] }

// String returns the type as metrics and logs call it.
func (t Type) String() string { return [...]string{"cds", "eds", "lds", "rds"}[t] }

// Kind returns the kind of the resources, as Envoy's documents call it.
func (t Type) Kind() string { return t.URL()[strings.LastIndexByte(t.URL(), '.')+1:] }

// Single reports whether a SotW response has one resource; otherwise it has all that are subscribed
// (§6.7).
func (t Type) Single() bool { return t == Endpoints || t == RouteConfiguration }

func (t Type) message() string { return t.URL()[len(typePrefix):] }

// Resource is a resource with a version, which is a hash of the message.
type Resource struct {
	Name, Version string
	Type          Type
	// Wire is the resource as an encoded field: resources of a DiscoveryResponse, and resource of a
	// Resource in a delta response. Both have the number 2 and the type google.protobuf.Any.
	Wire []byte
	// References are the names of the Clusters of a Listener or RouteConfiguration, or that of the
	// endpoints of a Cluster.
	References []string
}

// fieldResource is the number of the field that [Resource].Wire is.
const fieldResource = protowire.Number(2)

func newResource(t Type, name string, m message) Resource {
	wire := make(message, 0, len(m)+len(t.URL())+24).any(fieldResource, t.message(), m)
	return Resource{Name: name, Version: VersionOf(m), Type: t, Wire: wire}
}

// VersionOf returns 64 bits of a hash of the content as a version.
func VersionOf(content []byte) string {
	hash := sha256.Sum256(content)
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:8])
}

// message is an encoded protobuf message. Its methods append a field. As in proto3, text and number
// leave out the zero value, and so do wrapped and duration: nested with nil is an explicit zero.
type message []byte

func (m message) text(field protowire.Number, s string) message {
	if s == "" {
		return m
	}
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), s)
}

func (m message) number(field protowire.Number, n uint64) message {
	if n == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

// nested appends a message, or a string of a oneof.
func (m message) nested(field protowire.Number, n message) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), n)
}

// with appends a message, whose fields write appends. Unlike nested, it needs no memory for them.
func (m message) with(field protowire.Number, write func(message) message) message {
	m = protowire.AppendTag(m, field, protowire.BytesType)
	at := len(m)
	m = write(m)
	size := len(m) - at
	m = append(m, make([]byte, protowire.SizeVarint(uint64(size)))...)
	copy(m[len(m)-size:], m[at:])
	protowire.AppendVarint(m[:at], uint64(size))
	return m
}

// wrapped appends a google.protobuf.UInt32Value, unless it is 0.
func (m message) wrapped(field protowire.Number, n uint32) message {
	if n == 0 {
		return m
	}
	return m.nested(field, message{}.number(1, uint64(n)))
}

// duration appends a google.protobuf.Duration, unless it is 0.
func (m message) duration(field protowire.Number, d time.Duration) message {
	if d == 0 {
		return m
	}
	return m.nested(field, message{}.number(1, uint64(d/time.Second)).number(2, uint64(d%time.Second)))
}

// any appends a google.protobuf.Any.
func (m message) any(field protowire.Number, name string, value message) message {
	return m.with(field, func(m message) message { return m.text(1, typePrefix+name).nested(2, value) })
}

// entry appends an entry of a map from strings to messages.
func (m message) entry(field protowire.Number, key string, value message) message {
	return m.with(field, func(m message) message { return m.text(1, key).nested(2, value) })
}

// structField appends a field with a string to a google.protobuf.Struct.
func (m message) structField(key, value string) message {
	return m.entry(1, key, message{}.nested(3, message(value)))
}
