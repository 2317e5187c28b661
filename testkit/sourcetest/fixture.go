package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/sharedflags"
	"github.com/signpostd/signpost/kube"
)

// patience is how long to wait for a source to see a change.
const patience = 10 * time.Second

// Fixture is a running source with the objects that it reads.
type Fixture struct {
	t       testing.TB
	source  source.Source
	backend backend
	log     *slog.Logger
	// late is the resource whose tables FillRest fills; empty for none.
	late string
	// kinds are the kinds of objects with records.
	kinds []string
	// versions has a function for each table of the source that returns the resource version of the table.
	versions []func() string

	mu sync.Mutex
	// changedKeys has the keys of calls of Changed since the last reading, unchecked those since the last
	// step, and ever all of them.
	changedKeys, unchecked, ever map[source.Key]bool

	// asked is the wanted records of each object after the last step.
	asked map[source.Key]string
	// reported has the problems that the tables have reported.
	reported []string
}

// Reported returns the problems that the tables of the source have reported, each as its field and its
// reason.
func (s *Fixture) Reported() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reported)
}

func (s *Fixture) report(p objectmeta.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported = append(s.reported, p.Field+": "+p.Reason)
}

// Open opens a source with flags and no objects, and runs it until the test ends. The flags may include those
// that several kinds of sources read. The error is that of the flags or of [source.Config].
func Open(t testing.TB, plugin source.Plugin, flags ...string) (*Fixture, error) {
	t.Helper()
	return open(t, plugin, newMemoryBackend(plugin, flags), flags)
}

// MustOpen is [Open] with existing objects. An error fails the test.
func MustOpen(t testing.TB, plugin source.Plugin, manifests string, flags ...string) *Fixture {
	t.Helper()
	w := newMemoryBackend(plugin, flags)
	if err := w.apply(manifests); err != nil {
		t.Fatal(err)
	}
	s, err := open(t, plugin, w, flags)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// OpenWithout is [MustOpen] with tables of one resource, such as pods, that stay empty until FillRest is
// called.
func OpenWithout(t testing.TB, plugin source.Plugin, resource, manifests string, flags ...string) *Fixture {
	t.Helper()
	w := newMemoryBackend(plugin, flags)
	if err := w.apply(manifests); err != nil {
		t.Fatal(err)
	}
	s, err := openLate(t, plugin, w, resource, flags)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// FillRest fills the tables that [OpenWithout] has left empty.
func (s *Fixture) FillRest() {
	s.t.Helper()
	late := s.late
	s.late = ""
	s.fill(slices.DeleteFunc(slices.Clone(s.source.Tables), func(t kube.AnyTable) bool { return t.Resource().Resource != late }))
}

func open(t testing.TB, plugin source.Plugin, w backend, flags []string) (*Fixture, error) {
	t.Helper()
	return openLate(t, plugin, w, "", flags)
}

func openLate(t testing.TB, plugin source.Plugin, w backend, late string, flags []string) (*Fixture, error) {
	t.Helper()
	s := &Fixture{t: t, backend: w, late: late, changedKeys: map[source.Key]bool{}, unchecked: map[source.Key]bool{}, ever: map[source.Key]bool{}}
	config := plugin.New()
	set, options := flagsOf(plugin, config)
	if err := set.Parse(flags); err != nil {
		return nil, err
	}
	settings, err := options.Settings()
	if err != nil {
		return nil, err
	}
	s.log = slog.New(slog.NewTextHandler(t.Output(), nil))
	if s.source, err = plugin.Open(config, source.Input{Settings: settings, Changed: s.changed, Log: s.log}); err != nil {
		return nil, err
	}
	if err := Undeclared(s.source, config.Resources()); err != nil {
		t.Errorf("source %s: %v", plugin.Name, err)
	}
	for _, r := range config.Resources() {
		if !r.Dependency {
			s.kinds = append(s.kinds, r.Kind.GroupKind().String())
		}
	}
	if run := s.source.Run; run != nil {
		s.background(run)
	}
	if len(s.source.Tables) > 0 {
		s.fill(slices.DeleteFunc(slices.Clone(s.source.Tables), func(t kube.AnyTable) bool { return t.Resource().Resource == late }))
		s.check()
	}
	return s, nil
}

// flagsOf returns the flags of a source, and those that all sources share.
func flagsOf(plugin source.Plugin, config source.Config) (*pflag.FlagSet, *source.Options) {
	set, options, shared := pflag.NewFlagSet(plugin.Name, pflag.ContinueOnError), source.NewOptions(), &sharedflags.Set{}
	options.Declared = properties.Known()
	options.Flags(set)
	shared.Give(config)
	config.Flags(set)
	shared.Flags(set)
	return set, options
}

// fill fills tables of the source until the test ends.
func (s *Fixture) fill(tables []kube.AnyTable) {
	s.t.Helper()
	cluster, err := kube.New(kube.Options{Config: s.backend.config(), Logger: s.log, Report: s.report}, tables...)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, table := range tables {
		s.versions = append(s.versions, table.(interface{ ResourceVersion() string }).ResourceVersion)
	}
	s.background(cluster.Run)
	select {
	case <-cluster.Settled():
	case <-time.After(patience):
		s.t.Fatalf("the tables were not filled within %s: %+v", patience, cluster.Status())
	}
}

// background runs f until the test ends.
func (s *Fixture) background(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			s.t.Error(err)
		}
	})
}

func (s *Fixture) changed(k source.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changedKeys[k], s.unchecked[k], s.ever[k] = true, true, true
}

// Apply creates or replaces objects, and waits until the source has seen them.
func (s *Fixture) Apply(manifests string) {
	s.t.Helper()
	if err := s.backend.apply(manifests); err != nil {
		s.t.Fatal(err)
	}
	s.check()
}

// Delete deletes an object, and waits until the source has seen that. The kind is such as Service or
// Gateway.networking.istio.io.
func (s *Fixture) Delete(kind string, key source.Key) {
	s.t.Helper()
	if err := s.backend.delete(kind, key); err != nil {
		s.t.Fatal(err)
	}
	s.check()
}

// check waits until the source has seen everything. Then it checks that Changed was called for each object
// whose records have changed since the last check.
func (s *Fixture) check() {
	s.t.Helper()
	s.backend.settle(s)
	s.mu.Lock()
	changed := s.unchecked
	s.unchecked = map[source.Key]bool{}
	s.mu.Unlock()
	for key := range changed {
		if !slices.Contains(s.kinds, key.Kind) {
			s.t.Errorf("Changed was called with the kind %q of %s, and records are made of %q", key.Kind, key, s.kinds)
		}
	}
	asks := map[source.Key]string{}
	for _, key := range s.backend.own() {
		result := s.Evaluate(key)
		asks[key] = show(result, "")
		s.checkSkips(key, result)
	}
	s.checkKeys()
	for key := range s.asked {
		if _, exists := asks[key]; !exists {
			asks[key] = show(s.Evaluate(key), "")
		}
	}
	for key, now := range asks {
		if before := s.asked[key]; before != now && !changed[key] {
			s.t.Errorf("Changed was not called with %s, which asked for\n%sand now asks for\n%s", key, before, now)
		}
	}
	s.asked = asks
}

// Changed returns the keys with which the source called Changed since the last call of this method, sorted,
// one on each line.
func (s *Fixture) Changed() string {
	s.backend.settle(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for k := range s.changedKeys {
		lines = append(lines, s.shown(k)+"\n")
	}
	clear(s.changedKeys)
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// shown returns the text of a key: with the kind, if there are several.
func (s *Fixture) shown(k source.Key) string {
	if len(s.kinds) > 1 {
		return k.Kind + " " + k.String()
	}
	return k.String()
}

// Evaluate evaluates an object twice, and checks that the results are equal. With a real API server it
// doesn't, because changes may come in between.
func (s *Fixture) Evaluate(key source.Key) source.Result {
	s.t.Helper()
	if !s.backend.still() {
		return s.source.Evaluate(key)
	}
	first, second := s.source.Evaluate(key), s.source.Evaluate(key)
	if diff := cmp.Diff(first, second, cmp.Comparer(sameError)); diff != "" {
		s.t.Errorf("evaluating %s again gives something else (-first +second):\n%s", key, diff)
	}
	return first
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// Records returns the wanted records of all objects that the source knows, or what Poll returns. After the
// key of an object, each record set is a line, with its properties, its labels, and "invalid" if it is. The
// problems of the object follow:
//
//	default/shop
//		shop.example.org A 192.0.2.1 192.0.2.2 ttl=60 resource=service/default/shop
//		problem external-dns.kubernetes.io/ttl "soon": …
//		error …
//
// Objects without records are left out.
func (s *Fixture) Records() string {
	s.t.Helper()
	return s.list(show)
}

// All returns the results of all objects that the source knows.
func (s *Fixture) All() []source.Result {
	s.t.Helper()
	s.backend.settle(s)
	var results []source.Result
	for _, key := range s.keys() {
		results = append(results, s.Evaluate(key))
	}
	return results
}

// Results is Records, followed by the reasons why objects, or parts of them, have no record:
//
//	skipped NoHostname metadata.annotations: …
func (s *Fixture) Results() string {
	s.t.Helper()
	return s.list(showAll)
}

func (s *Fixture) list(shows func(source.Result, string) string) string {
	s.t.Helper()
	s.backend.settle(s)
	if s.source.Poll != nil {
		records, err := s.source.Poll(s.t.Context())
		return shows(source.Result{Records: records, Err: err}, "")
	}
	var blocks []string
	for _, key := range s.keys() {
		if text := shows(s.Evaluate(key), "  "); text != "" {
			blocks = append(blocks, s.shown(key)+"\n"+text)
		}
	}
	slices.Sort(blocks)
	return s.backend.written(strings.Join(blocks, ""))
}

// keys returns all keys with which Changed was ever called, and those of all objects, as far as they belong
// to the fixture.
func (s *Fixture) keys() []source.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.ever)
	if s.source.Keys != nil {
		for _, key := range s.source.Keys() {
			all[key] = true
		}
	}
	return slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(k source.Key) bool { return !s.backend.has(k) })
}

// End checks that an unknown object has no records, then deletes all objects, one after the other, and checks
// that nothing is left. [Run] calls it after each scenario.
func (s *Fixture) End() {
	s.t.Helper()
	for _, kind := range append(s.kinds, "") {
		for _, key := range []source.Key{{Kind: kind, Namespace: defaultNamespace, Name: "nobody-has-this-name"}, {Kind: kind}} {
			if text := showAll(s.Evaluate(key), ""); text != "" {
				s.t.Errorf("the object %q, which doesn't exist, asks for\n%s", key, text)
			}
		}
	}
	for _, object := range s.backend.all() {
		s.Delete(object.Kind.String(), source.Key{Namespace: object.Namespace, Name: object.Name})
	}
	if left := s.Results(); left != "" {
		s.t.Errorf("all objects are deleted, and these records are left:\n%s", left)
	}
}
