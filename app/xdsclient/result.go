package xdsclient

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/signpostd/signpost/internal/sanitize"
)

// result has the resources of a target, in the order in which a client reads them.
type result struct {
	Time   *time.Time    `json:"time,omitempty"`
	Target string        `json:"target"`
	Reason string        `json:"reason,omitempty"` // why the target doesn't exist
	Routes []targetRoute `json:"routes"`
}

type targetRoute struct {
	Match    string          `json:"match"`
	Clusters []targetCluster `json:"clusters"`
}

type targetCluster struct {
	Name   string `json:"name"`
	Weight uint64 `json:"weight,omitempty"`
	// TLS is nil if the client decides about TLS.
	TLS        *clusterTLS      `json:"tls,omitempty"`
	Localities []targetLocality `json:"localities"`
}

// clusterTLS has the settings of a Cluster for the connections to its endpoints.
type clusterTLS struct {
	// Transport is the name of a transport other than TLS. The other fields are then empty.
	Transport string `json:"transport,omitempty"`
	// CertificateProvider and AuthorityProvider are those of the bootstrap file of the client that
	// have its certificate, and the authorities that it trusts.
	CertificateProvider string `json:"certificateProvider,omitempty"`
	AuthorityProvider   string `json:"authorityProvider,omitempty"`
	ServerName          string `json:"serverName,omitempty"`
	// Identities are those of which an endpoint must have one. If there are none, any is accepted.
	Identities []identity `json:"identities"`
}

// identity has one entry: what a name in a certificate is compared with, by how: exact, prefix,
// suffix, regex or contains.
type identity map[string]string

type targetLocality struct {
	Priority  uint32           `json:"priority"`
	Region    string           `json:"region,omitempty"`
	Zone      string           `json:"zone,omitempty"`
	Weight    uint32           `json:"weight"`
	Endpoints []targetEndpoint `json:"endpoints"`
}

type targetEndpoint struct {
	Address    string   `json:"address"`
	Additional []string `json:"additionalAddresses,omitempty"` // of the same endpoint
	Health     string   `json:"health,omitempty"`              // empty if the endpoint can be used
}

func localitiesOf(a *endpointpb.ClusterLoadAssignment) []targetLocality {
	list := []targetLocality{}
	for _, l := range a.GetEndpoints() {
		made := targetLocality{
			Priority: l.GetPriority(), Region: l.GetLocality().GetRegion(), Zone: l.GetLocality().GetZone(),
			Weight: l.GetLoadBalancingWeight().GetValue(), Endpoints: []targetEndpoint{},
		}
		for _, e := range l.GetLbEndpoints() {
			one := targetEndpoint{Address: addressOf(e.GetEndpoint().GetAddress())}
			for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
				one.Additional = append(one.Additional, addressOf(more.GetAddress()))
			}
			if h := e.GetHealthStatus(); h != corepb.HealthStatus_UNKNOWN {
				one.Health = h.String()
			}
			made.Endpoints = append(made.Endpoints, one)
		}
		list = append(list, made)
	}
	return list
}

func addressOf(a *corepb.Address) string {
	at := a.GetSocketAddress()
	return net.JoinHostPort(at.GetAddress(), strconv.Itoa(int(at.GetPortValue())))
}

func (a result) clusters() (list []targetCluster) {
	for _, r := range a.Routes {
		list = append(list, r.Clusters...)
	}
	return list
}

func (a result) addresses() (list []string) {
	for _, c := range a.clusters() {
		for _, l := range c.Localities {
			for _, e := range l.Endpoints {
				list = append(list, e.Address)
			}
		}
	}
	return list
}

// reason returns why the target doesn't exist, which the Clusters are called by; "" if it exists.
func (a result) reason() string {
	var reasons []string
	for _, c := range a.clusters() {
		if !strings.Contains(c.Name, " ") { // the name of a Service
			return ""
		}
		reasons = append(reasons, c.Name)
	}
	return cmp.Or(strings.Join(reasons, "; "), "it has no route")
}

// text returns a line for each route, Cluster, locality and endpoint. It uses no template, which would make the
// linker keep all methods of the program (docs/performance/build.md).
func (a result) text() string {
	var t treeText
	t.line(0, "%s", sanitize.Cut(a.Target))
	if a.Reason != "" {
		t.line(1, "missing: %s", sanitize.Cut(a.Reason))
		return t.String()
	}
	for _, r := range a.Routes {
		t.line(1, "route %s", r.Match)
		for _, c := range r.Clusters {
			t.cluster(c)
		}
	}
	return t.String()
}

// treeText is text whose lines are indented by their level.
type treeText struct{ strings.Builder }

func (t *treeText) line(level int, format string, arguments ...any) {
	fmt.Fprintf(&t.Builder, strings.Repeat("  ", level)+format+"\n", arguments...)
}

func (t *treeText) cluster(c targetCluster) {
	weight := ""
	if c.Weight > 0 {
		weight = fmt.Sprintf(" weight %d", c.Weight)
	}
	t.line(2, "cluster %s%s", sanitize.Cut(c.Name), weight)
	if c.TLS != nil {
		t.tls(*c.TLS)
	}
	for _, l := range c.Localities {
		t.line(3, "priority %d, zone %q, weight %d", l.Priority, strings.Trim(l.Region+"/"+l.Zone, "/"), l.Weight)
		for _, e := range l.Endpoints {
			addresses := []string{sanitize.Cut(e.Address)}
			for _, more := range e.Additional {
				addresses = append(addresses, sanitize.Cut(more))
			}
			t.line(4, "%s", strings.TrimSpace(strings.Join(addresses, " or ")+" "+e.Health))
		}
	}
	if len(c.Localities) == 0 {
		t.line(3, "no endpoints")
	}
}

func (t *treeText) tls(s clusterTLS) {
	if s.Transport != "" {
		t.line(3, "transport %s", sanitize.Name(s.Transport))
		return
	}
	text := "TLS"
	for _, part := range [][2]string{{"certificate", s.CertificateProvider}, {"authorities", s.AuthorityProvider}, {"server name", s.ServerName}} {
		if part[1] != "" {
			text += ", " + part[0] + " " + sanitize.Name(part[1])
		}
	}
	t.line(3, "%s", text)
	for _, i := range s.Identities {
		for how, value := range i {
			t.line(4, "identity %s", strings.TrimPrefix(how+" ", "exact ")+sanitize.Cut(value))
		}
	}
	if len(s.Identities) == 0 {
		t.line(4, "any identity")
	}
}
