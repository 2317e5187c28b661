package publishertest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// Server is a fake API, as those of testkit/apitest are. Operations counts the requests since it was called
// last.
type Server interface {
	Operations() map[string]int
	Refused() int
	SetLag(time.Duration)
}

// Fixture is a publisher over a provider and its server. Each run is that of a new process. It must be used
// in a bubble of testing/synctest. Settings may be changed between runs.
type Fixture struct {
	T *testing.T
	// Open opens a provider over the server.
	Open   func() provider.Provider
	Server Server
	// Writes reports whether an operation changes records, and Changes whether it changes anything; nil is for
	// Writes.
	Writes, Changes func(operation string) bool
	// Lines returns what the zone has, without ownership records, and Count how many record sets it has with
	// them.
	Lines func() []string
	Count func() int

	Domains *dns.DomainFilter
	Policy  plan.Policy
	Managed []string
	// Owner, Prefix, Suffix and Wildcard are settings of the TXT registry.
	Owner, Prefix, Suffix, Wildcard string
	DryRun                          bool
	// Provider is used for all runs, if it isn't nil.
	Provider provider.Provider
	// Accounts, if it isn't nil, has the rate limits that providers share, as in one process.
	Accounts *provider.Accounts
	// Wrap, if it isn't nil, wraps the transport of providers.
	Wrap func(http.RoundTripper) http.RoundTripper
	Log  *slog.Logger
	// Patience is how long a run may take.
	Patience time.Duration
	// Poll returns what objects ask for: what was given to Ask, unless a test replaces it.
	Poll func() []*dns.RecordSet
	// Configure, if it isn't nil, changes the settings of publishers.
	Configure func(*publisher.Config)

	mu     sync.Mutex
	wanted []*dns.RecordSet
}

// NewFixture returns a fixture with the usual settings, which has no server yet.
func NewFixture(t *testing.T) *Fixture {
	w := &Fixture{
		T: t, Domains: dns.NewDomainFilter(nil, nil), Policy: plan.Sync, Managed: plan.DefaultManaged(), Owner: "me",
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Patience: time.Minute,
	}
	w.Poll = w.Asked
	return w
}

// Set returns a record set as an object asks for it. Targets are separated by commas, and properties are
// name=value.
func Set(name, recordType, targets string, properties ...string) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: name, Type: recordType, Targets: strings.Split(targets, ","),
		Labels:  map[string]string{dns.LabelResource: "service/default/web"},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: "web", Source: "service"}},
	}
	for _, p := range properties {
		switch key, value, _ := strings.Cut(p, "="); key {
		case "id":
			r.SetIdentifier = value
		case "ttl":
			r.TTL, _ = dns.ParseTTL(value)
		default:
			r.SetProperty(key, value)
		}
	}
	return r
}

// Input returns the input of a provider. Its requests reach a server through a transport, and w.Wrap.
func (w *Fixture) Input(transport http.RoundTripper) provider.Input {
	return provider.Input{Domains: w.Domains, DryRun: w.DryRun, Log: w.Log, Accounts: w.Accounts, Wrap: func(http.RoundTripper) http.RoundTripper {
		if w.Wrap != nil {
			return w.Wrap(transport)
		}
		return transport
	}}
}

// Ask changes what objects ask for.
func (w *Fixture) Ask(wanted ...*dns.RecordSet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = wanted
}

// Asked returns what objects ask for.
func (w *Fixture) Asked() []*dns.RecordSet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.wanted)
}

// Publisher returns a publisher over a provider.
func (w *Fixture) Publisher(p provider.Provider) *publisher.Publisher {
	w.T.Helper()
	can := p.Capabilities()
	want, err := desired.New(desired.Options{Sources: []string{"service"}, ManagedTypes: w.Managed, Properties: can.Properties, NameCharacters: can.NameCharacters, OneName: can.OneName})
	if err != nil {
		w.T.Fatal(err)
	}
	rules := plan.Rules{Policy: w.Policy, Owner: w.Owner, Managed: w.Managed}
	o, err := owner.NewTXT(owner.TXTOptions{OwnerID: w.Owner, Prefix: w.Prefix, Suffix: w.Suffix, WildcardReplacement: w.Wildcard, Managed: rules.Manages})
	if err != nil {
		w.T.Fatal(err)
	}
	c := publisher.Config{
		// What others change is seen soon, so that a schedule takes minutes.
		Limits:  publisher.Limits{ListingTime: publisher.DefaultInterval},
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return w.Poll(), nil }}}},
		Desired: want, Owner: o, Provider: p, Rules: rules, Domains: w.Domains, DryRun: w.DryRun, Budget: unlimited, Log: w.Log,
	}
	if w.Configure != nil {
		w.Configure(&c)
	}
	pub, err := publisher.New(c)
	if err != nil {
		w.T.Fatal(err)
	}
	return pub
}

// Run publishes once, and returns how many requests of each operation there were.
func (w *Fixture) Run(wanted ...*dns.RecordSet) (requests map[string]int, err error) {
	w.T.Helper()
	w.Ask(wanted...)
	w.Server.Operations()
	err = w.Once()
	return w.Server.Operations(), err
}

// Once publishes once what objects ask for.
func (w *Fixture) Once() error {
	w.T.Helper()
	settled := make(chan struct{})
	close(settled)
	_, err := w.Publisher(w.open()).Once(w.T.Context(), settled, publisher.Within(w.Patience))
	return err
}

// Together has two publishers of one process publish once at the same time. Each has its own provider.
func (w *Fixture) Together() {
	w.T.Helper()
	w.Accounts = new(provider.Accounts)
	settled := make(chan struct{})
	close(settled)
	var running sync.WaitGroup
	for range 2 {
		p := w.Publisher(w.Open())
		running.Go(func() {
			if _, err := p.Once(w.T.Context(), settled, publisher.Within(w.Patience)); err != nil {
				w.T.Error(err)
			}
		})
	}
	running.Wait()
}

// open returns the provider for a run.
func (w *Fixture) open() provider.Provider {
	if w.Provider != nil {
		return w.Provider
	}
	return w.Open()
}

// Start starts a publisher as a new process does. The function ends it.
func (w *Fixture) Start() (stop func()) {
	w.T.Helper()
	return start(w.T, w.Publisher(w.open()))
}

// start runs a publisher that leads until the function is called.
func start(t *testing.T, p *publisher.Publisher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{p.Run, p.Lead} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// Publish publishes once, and checks how many requests there were that change records.
func (w *Fixture) Publish(want int, wanted ...*dns.RecordSet) {
	w.T.Helper()
	if requests, err := w.Run(wanted...); err != nil || count(requests, w.Writes) != want {
		w.T.Fatalf("%d requests to change records and error %v, want %d; %v", count(requests, w.Writes), err, want, requests)
	}
}

// Settle publishes, in some requests, and then once more, without a request that changes anything.
func (w *Fixture) Settle(want int, wanted ...*dns.RecordSet) {
	w.T.Helper()
	w.Publish(want, wanted...)
	if requests, err := w.Run(wanted...); err != nil || count(requests, w.changes()) > 0 {
		w.T.Fatalf("the second run changes something, or fails with %v; %v", err, requests)
	}
}

func (w *Fixture) changes() func(operation string) bool {
	if w.Changes != nil {
		return w.Changes
	}
	return w.Writes
}

// count returns how many requests are of some operations.
func count(requests map[string]int, of func(operation string) bool) (n int) {
	for operation, calls := range requests {
		if of(operation) {
			n += calls
		}
	}
	return n
}

// Expect compares what the zone has, in any order.
func (w *Fixture) Expect(want ...string) {
	w.T.Helper()
	got, want := slices.Sorted(slices.Values(w.Lines())), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		w.T.Fatalf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Ownership records returns how many ownership records the zone has.
func (w *Fixture) OwnershipRecords() int { return w.Count() - len(w.Lines()) }

// Gone empties the zone, in some requests, and checks that nothing is left.
func (w *Fixture) Gone(want int) {
	w.T.Helper()
	w.Publish(want)
	if n := w.Count(); n > 0 {
		w.T.Fatalf("%d record sets are left: %v", n, w.Lines())
	}
}
