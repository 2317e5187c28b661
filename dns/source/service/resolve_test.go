package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// fakeResolver is a resolver whose results a test sets. It responds when open is closed.
type fakeResolver struct {
	open chan struct{}

	mu        sync.Mutex
	addresses map[string][]string
	errs      map[string]error
	lookups   map[string]int
	// running is the number of running lookups, and most their maximum.
	running, most int
}

func newResolver() *fakeResolver {
	z := &fakeResolver{open: make(chan struct{}), addresses: map[string][]string{}, errs: map[string]error{}, lookups: map[string]int{}}
	close(z.open)
	return z
}

// LookupNetIP implements resolver.
func (z *fakeResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	z.mu.Lock()
	z.lookups[host]++
	z.running++
	z.most = max(z.most, z.running)
	z.mu.Unlock()
	defer func() {
		z.mu.Lock()
		z.running--
		z.mu.Unlock()
	}()
	select {
	case <-z.open:
	case <-ctx.Done():
		return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	switch {
	case network != "ip":
		return nil, fmt.Errorf("asked for %s", network)
	case z.errs[host] != nil:
		return nil, z.errs[host]
	case z.addresses[host] == nil:
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var list []netip.Addr
	for _, text := range z.addresses[host] {
		list = append(list, netip.MustParseAddr(text))
	}
	return list, nil
}

func (z *fakeResolver) set(host string, err error, addresses ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.errs[host], z.addresses[host] = err, addresses
}

func (z *fakeResolver) times(host string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.lookups[host]
}

// lookupTest runs lookups in a bubble of synctest.
type lookupTest struct {
	*lookups
	mu       sync.Mutex
	used     map[string]bool
	notified []string
}

func newLookupTest(z *fakeResolver) *lookupTest {
	q := &lookupTest{used: map[string]bool{}}
	q.lookups = newLookups(z, func(host string) bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.used[host]
	}, func(host string) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.notified = append(q.notified, host)
	})
	return q
}

// setInUse sets whether a name is in use.
func (q *lookupTest) setInUse(host string, used bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used[host] = used
}

// takeNotified returns the names for which changed was called since the last call, sorted.
func (q *lookupTest) takeNotified() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	notified := q.notified
	q.notified = nil
	slices.Sort(notified)
	return notified
}

// begin runs lookups until the test ends.
func begin(t *testing.T, z *fakeResolver) *lookupTest {
	q := newLookupTest(z)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return q
}

// expect lets time pass, and checks the result of get and the names for which changed was called.
func (q *lookupTest) expect(t *testing.T, after time.Duration, host, want string, notified ...string) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	addresses, err := q.get(host)
	got := strings.Join(addresses, " ")
	if err != nil {
		got = err.Error()
	}
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want %q", host, got, want)
	}
	if got := q.takeNotified(); !slices.Equal(got, notified) {
		t.Errorf("changed was called with %v, want %v", got, notified)
	}
}

func TestLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newResolver()
		z.set("lb", nil, "192.0.2.2", "192.0.2.1", "::ffff:192.0.2.1")
		q := begin(t, z)
		q.setInUse("lb", true)
		q.expect(t, 0, "lb", "not done yet")
		q.schedule("lb")
		q.expect(t, 0, "lb", "192.0.2.1 192.0.2.2", "lb")
		q.schedule("lb")
		q.expect(t, lookupRefresh-time.Millisecond, "lb", "192.0.2.1 192.0.2.2")
		if n := z.times("lb"); n != 1 {
			t.Errorf("asked %d times in a minute, want once", n)
		}
		z.set("lb", nil, "192.0.2.2", "192.0.2.1")
		q.expect(t, lookupRefresh, "lb", "192.0.2.1 192.0.2.2") // in another order
		z.set("lb", nil, "192.0.2.3")
		q.expect(t, lookupRefresh, "lb", "192.0.2.3", "lb")
		// The last result stays after a failure of the server.
		z.set("lb", errors.New("server misbehaving"))
		q.expect(t, lookupRefresh, "lb", "192.0.2.3")
		z.set("lb", nil, "192.0.2.4")
		q.expect(t, lookupRetry, "lb", "192.0.2.4", "lb")
		// The name is not in use any more.
		q.setInUse("lb", false)
		q.expect(t, 2*lookupRefresh, "lb", "not done yet")
		n := z.times("lb")
		q.expect(t, 2*lookupRefresh, "lb", "not done yet")
		if z.times("lb") != n {
			t.Error("a name that nobody uses is still looked up")
		}
	})
}

// TestLookupsOfNamesThatAreGone shows that a name that no longer exists keeps its last addresses,
// and that its Services are told, once, until the name is back.
func TestLookupsOfNamesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newResolver()
		z.set("lb", nil, "192.0.2.1")
		q := begin(t, z)
		q.setInUse("lb", true)
		q.schedule("lb")
		q.expect(t, 0, "lb", "192.0.2.1", "lb")
		z.set("lb", nil)
		q.expect(t, lookupRefresh, "lb", "no such host", "lb")
		if addresses, err := q.get("lb"); !slices.Equal(addresses, []string{"192.0.2.1"}) || !notFound(err) || !strings.Contains(err.Error(), "its last addresses stay published") {
			t.Errorf("got %v and the error %v, want the last addresses and that they stay", addresses, err)
		}
		q.expect(t, lookupRetry, "lb", "no such host")
		z.set("lb", errors.New("server misbehaving"))
		q.expect(t, lookupRetry, "lb", "no such host")
		z.set("lb", nil, "192.0.2.1")
		q.expect(t, lookupRetry, "lb", "192.0.2.1", "lb")
	})
}

func TestLookupsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newResolver()
		z.set("lb", errors.New("server misbehaving"))
		q := begin(t, z)
		q.setInUse("lb", true)
		q.schedule("lb")
		q.expect(t, 0, "lb", "server misbehaving", "lb")
		if _, err := q.get("lb"); notFound(err) {
			t.Error("a failure of the server says that the name doesn't exist")
		}
		q.expect(t, lookupRetry, "lb", "server misbehaving")
		z.set("lb", nil)
		q.expect(t, lookupRetry, "lb", "no such host", "lb")
		if _, err := q.get("lb"); !notFound(err) {
			t.Errorf("%v doesn't say that the name doesn't exist", err)
		}
		z.set("lb", nil, []string{}...)
		q.expect(t, lookupRetry, "lb", "it has no address", "lb")
		z.set("lb", nil, "192.0.2.1")
		q.expect(t, lookupRetry, "lb", "192.0.2.1", "lb")
	})
}

// TestLookupsAreLimited shows that names without a response delay others for a limited time, and that the
// number of parallel lookups is limited.
func TestLookupsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newResolver()
		z.open = make(chan struct{})
		q := begin(t, z)
		hosts := make([]string, 3*lookupLimit)
		for i := range hosts {
			hosts[i] = fmt.Sprintf("lb-%02d", i)
			q.setInUse(hosts[i], true)
			z.set(hosts[i], nil, "192.0.2.1")
			q.schedule(hosts[i])
		}
		time.Sleep(lookupTimeout + time.Millisecond)
		synctest.Wait()
		if n := len(q.takeNotified()); n != lookupLimit {
			t.Errorf("%d lookups have timed out, want %d", n, lookupLimit)
		}
		close(z.open)
		synctest.Wait()
		if n := len(q.takeNotified()); n != 2*lookupLimit {
			t.Errorf("%d names have been looked up, want %d", n, 2*lookupLimit)
		}
		if z.most != lookupLimit {
			t.Errorf("%d lookups at once, want %d", z.most, lookupLimit)
		}
	})
}

// TestLookupsEnd shows that running lookups end with the context, and then change nothing.
func TestLookupsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newResolver()
		z.open = make(chan struct{})
		q := newLookupTest(z)
		q.setInUse("lb", true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			q.run(ctx)
		}()
		q.schedule("lb")
		synctest.Wait()
		cancel()
		<-done
		q.expect(t, 0, "lb", "not done yet")
		if z.running != 0 {
			t.Errorf("%d lookups are still under way", z.running)
		}
	})
}

// resolving returns the plugin with a resolver.
func resolving(z *fakeResolver) source.Plugin {
	plugin := Plugin()
	plugin.New = func() source.Config {
		c := NewConfig()
		c.resolver = z
		return c
	}
	return plugin
}

// TestResolveLoadBalancers shows that the names of load balancers are looked up (case 133). A name
// without addresses is an invalid record set, so that the name keeps the records that an earlier
// process has published.
func TestResolveLoadBalancers(t *testing.T) {
	const flag = "--resolve-service-load-balancer-hostname"
	named := func(name, host string) string {
		return strings.ReplaceAll(loadBalancer("P/hostname: foo.example.org", "{ip: 1.2.3.4}, {hostname: "+host+"}"), "foo", name) + "---\n"
	}
	z := newResolver()
	z.open = make(chan struct{})
	z.set("known.example.com", nil, "2001:db8::1", "192.0.2.1")
	z.set("broken.example.com", errors.New("server misbehaving"))
	fixture := sourcetest.MustOpen(t, resolving(z), named("foo", "known.example.com")+named("gone", "gone.example.com")+named("broken", "broken.example.com")+
		strings.ReplaceAll(loadBalancer("P/hostname: t.example.org, P/target: 8.8.8.8", "{hostname: unasked.example.com}"), "foo", "targeted"), flag)
	before := fixture.Records()
	if want := fooKey + "  error look up known.example.com: not done yet\n"; !strings.Contains(before, want) {
		t.Errorf("case 133: before the lookup:\n%swant among it\n%s", before, want)
	}
	fixture.Changed()
	changed := map[string]bool{}
	close(z.open)
	kubetest.Eventually(t, 30*time.Second, func() error {
		for key := range strings.Lines(fixture.Changed()) {
			changed[key] = true
		}
		if len(changed) != 3 {
			return fmt.Errorf("told of %v, want three Services", changed)
		}
		return nil
	})
	want := "testing/broken\n  error look up the load balancer: server misbehaving; check the name and the resolver\n" +
		fooKey + "  foo.example.org A 1.2.3.4 192.0.2.1" + foo + "  foo.example.org AAAA 2001:db8::1" + foo +
		"testing/gone\n  gone.example.org A 1.2.3.4 resource=service/testing/gone\n" +
		"  gone.example.org CNAME gone.example.com resource=service/testing/gone invalid\n" +
		"  problem status.loadBalancer.ingress.hostname \"gone.example.com\": look up the load balancer: lookup gone.example.com: no such host; check the name and the resolver\n" +
		"testing/targeted\n  t.example.org A 8.8.8.8 resource=service/testing/targeted\n"
	if diff := cmp.Diff(want, fixture.Records()); diff != "" {
		t.Errorf("case 133: records (-want +got):\n%s", diff)
	}
	if z.times("unasked.example.com") != 0 {
		t.Error("a name was looked up that nobody needs")
	}
}
