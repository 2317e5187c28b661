package moduletest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/providertest"
)

// Secret is the token or password that test servers accept.
const Secret = "a-secret-of-tests"

// Options configure [Run].
type Options struct {
	Module module.Module
	// Settings is the JSON of the settings. %s in it is replaced by the secret.
	Settings string
	// Serve returns a server of the service with its records in a store.
	Serve func(*Store) http.Handler
	// Without names checks of the kit that the module can't pass, with the reason.
	Without map[string]string
}

// Run checks a module: on its own, and with the provider in front of it.
func Run(t *testing.T, o Options) {
	if !t.Run("module", func(t *testing.T) { contract(t, o) }) {
		// Requests that bypass the transport would go to the network.
		return
	}
	t.Run("kit", func(t *testing.T) { o.kit(t, o.Module.Types, o.Without) })
	if o.Without["random changes"] != "" {
		// Without texts, random changes may be possible.
		t.Run("random changes without texts", func(t *testing.T) {
			o.kit(t, []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME}, o.Without)
		})
	}
	t.Run("faults", func(t *testing.T) { faults(t, o) })
	t.Run("other server", func(t *testing.T) { o.otherServer(t) })
	t.Run("secret", func(t *testing.T) { o.wrongSecret(t) })
}

// otherServer checks that a zone isn't empty if another server responds with success, such as a proxy, from
// the first request or a later one.
func (o Options) otherServer(t *testing.T) {
	store := NewStore()
	store.AddZone(zoneName)
	for _, body := range []string{"", "{}", "null", " {}\n", "<html>Sign in</html>"} {
		for proper := range 3 {
			in, sent := o.input(providertest.Input(), store), 0
			next := in.Wrap(nil)
			in.Wrap = providertest.Through(handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if sent++; sent <= proper {
					return next.RoundTrip(r)
				}
				if r.Body != nil {
					_ = r.Body.Close()
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			}))
			for _, zones := range [][]string{{zoneName}, nil} {
				p, err := o.configure(t, Secret, zones...).Open(t.Context(), in)
				if err != nil {
					continue // The module can't list zones.
				}
				if sent = 0; zones == nil {
					_, err = p.Zones(t.Context())
				} else {
					_, err = p.Records(t.Context(), dns.Zone{ID: zoneName, Name: zoneName})
				}
				if sent > proper && err == nil {
					t.Errorf("%q after %d responses, zones %v: no error", body, proper, zones)
				}
			}
		}
	}
}

// kit runs the conformance kit with the provider.
func (o Options) kit(t *testing.T, types []string, without map[string]string) {
	store, n := NewStore(), 0
	rest := map[string]string{}
	for name, why := range without {
		if len(types) != 3 || name != "random changes" {
			rest[name] = why
		}
	}
	providertest.Run(t, providertest.Options{
		Types: types, Without: rest,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			n++
			name := fmt.Sprintf("z%d.example.test", n)
			f := providertest.Fixture{Zone: name, Child: "sub." + name, Reverse: fmt.Sprintf("%d.10.in-addr.arpa", n)}
			for _, z := range []string{f.Zone, f.Child, f.Reverse} {
				store.AddZone(z)
			}
			f.Provider = o.open(t, store, in, Secret, f.Zone, f.Child, f.Reverse)
			f.Reopen = func(t *testing.T) provider.Provider { return o.open(t, store, in, Secret, f.Zone, f.Child, f.Reverse) }
			return f
		},
	})
}

// open opens the provider with a transport to the server without a network.
func (o Options) open(t *testing.T, store *Store, in provider.Input, secret string, zones ...string) provider.Provider {
	t.Helper()
	p, err := o.configure(t, secret, zones...).Open(t.Context(), o.input(in, store))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// configure returns settings. Zones are named if the module can't list them.
func (o Options) configure(t *testing.T, secret string, zones ...string) *libdns.Config {
	t.Helper()
	dir := t.TempDir()
	key, file := filepath.Join(dir, "key"), filepath.Join(dir, "settings.json")
	for path, text := range map[string]string{key: secret + "\n", file: fmt.Sprintf(o.Settings, "file:"+key)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &libdns.Config{Name: o.Module.Name, File: file, Modules: []module.Module{o.Module}}
	if _, lists := o.Module.New().(lib.ZoneLister); !lists {
		c.Zones = zones
	}
	return c
}

// input returns an input whose requests reach the server.
func (o Options) input(in provider.Input, store *Store) provider.Input {
	wrap := in.Wrap
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return wrap(handlertransport.New(o.Serve(store))) }
	return in
}

// wrongSecret checks the error for invalid credentials, which must not contain them.
func (o Options) wrongSecret(t *testing.T) {
	const wrong = "not-the-secret-of-tests"
	store := NewStore()
	store.AddZone("z.example.test")
	p := o.open(t, store, providertest.Input(), wrong, "z.example.test")
	_, err := p.Records(t.Context(), dns.Zone{ID: "z.example.test", Name: "z.example.test"})
	if err == nil || !strings.Contains(err.Error(), provider.ErrCredentials.Error()) {
		t.Fatalf("Records with a wrong secret: %v, want ErrCredentials", err)
	}
	if strings.Contains(err.Error(), wrong) {
		t.Fatalf("the error shows the secret: %v", err)
	}
}
