package configure

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// location has the flags of a provider that locate its zones. apart reports whether two publishers
// can't have a common zone.
type location struct {
	flags []string
	apart func(a, b settingsOf) bool
}

// settingsOf reads flags of a publisher.
type settingsOf struct{ o *Options }

// of returns the values of a flag; none if it is empty.
func (s settingsOf) of(name string) []string {
	f := s.o.publisherFlags.Lookup(name)
	if f == nil {
		return nil
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	if text := f.Value.String(); text != "" {
		return []string{text}
	}
	return nil
}

func (s settingsOf) first(name string) string {
	if all := s.of(name); len(all) > 0 {
		return all[0]
	}
	return ""
}

// locations has the providers whose flags locate zones. Two publishers of any other provider may
// have a common zone, because its account depends on credentials.
var locations = map[string]location{
	"rfc2136": {[]string{"rfc2136-host", "rfc2136-port", "rfc2136-zone"}, func(a, b settingsOf) bool {
		return disjoint(a.of("rfc2136-zone"), b.of("rfc2136-zone"), within) ||
			otherServers(servers(a.of("rfc2136-host"), a.first("rfc2136-port")), servers(b.of("rfc2136-host"), b.first("rfc2136-port")))
	}},
	"pdns": {[]string{"pdns-server", "pdns-server-id"}, func(a, b settingsOf) bool {
		return otherServers(serversOfURLs(a.of("pdns-server")), serversOfURLs(b.of("pdns-server")))
	}},
	"coredns": {[]string{"coredns-prefix"}, otherPrefix}, "skydns": {[]string{"coredns-prefix"}, otherPrefix},
	"google":            {[]string{"google-project", "google-zone-visibility"}, differs("google-project", "google-zone-visibility")},
	"azure":             azureLocation,
	"azure-dns":         azureLocation,
	"azure-private-dns": azureLocation,
	"aws":               {[]string{"aws-zone-type"}, differs("aws-zone-type")},
}

var azureLocation = location{[]string{"azure-subscription-id", "azure-resource-group"}, differs("azure-subscription-id", "azure-resource-group")}

// apart reports whether two publishers can't have a common zone of a provider.
func apart(provider string, a, b *Options) bool {
	l, ok := locations[provider]
	return ok && l.apart(settingsOf{a}, settingsOf{b})
}

// locationText names a provider, with the settings that locate its zones.
func locationText(provider string, o *Options) string {
	var set []string
	for _, name := range locations[provider].flags {
		if values := (settingsOf{o}).of(name); len(values) > 0 {
			set = append(set, name+"="+strings.Join(values, ","))
		}
	}
	if len(set) == 0 {
		return provider
	}
	return provider + " (" + strings.Join(set, ", ") + ")"
}

// differs returns a comparison that requires different values of one of the flags.
func differs(flags ...string) func(a, b settingsOf) bool {
	return func(a, b settingsOf) bool {
		return slices.ContainsFunc(flags, func(name string) bool {
			x, y := a.first(name), b.first(name)
			return x != "" && y != "" && !strings.EqualFold(x, y)
		})
	}
}

// otherPrefix reports whether neither prefix contains the other.
func otherPrefix(a, b settingsOf) bool {
	path := func(s settingsOf) string { return "/" + strings.Trim(s.first("coredns-prefix"), "/") + "/" }
	return !strings.HasPrefix(path(a), path(b)) && !strings.HasPrefix(path(b), path(a))
}

// server is the host (an address or a name) and port of a server.
type server struct{ host, port string }

// servers returns servers with one port. Standard ports are those of one server.
func servers(hosts []string, port string) []server {
	if slices.Contains([]string{"", "0", "53", "853"}, port) {
		port = "53"
	}
	var all []server
	for _, host := range hosts {
		all = append(all, server{strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), ".")), port})
	}
	return all
}

func serversOfURLs(urls []string) []server {
	var all []server
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil
		}
		all = append(all, server{strings.ToLower(u.Hostname()), u.Port()})
	}
	return all
}

// otherServers reports whether no server of one list can be one of the other. A name may resolve to
// any address, so only two names, or two addresses, can differ.
func otherServers(a, b []server) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for _, x := range a {
		for _, y := range b {
			xAddr, xErr := netip.ParseAddr(x.host)
			yAddr, yErr := netip.ParseAddr(y.host)
			switch {
			case (xErr == nil) != (yErr == nil):
				return false
			case xErr == nil && xAddr.Unmap() == yAddr.Unmap(), xErr != nil && x.host == y.host:
				if x.port == y.port {
					return false
				}
			}
		}
	}
	return true
}
