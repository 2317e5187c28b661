package publisher

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

var errBare = errors.New("status 500")

// A record that makes the provider fail a whole batch without a reason doesn't delay the other
// records (D1).
func TestOneRecordFailsItsBatch(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		c := called{fail: func(call inmemorytest.Call) error {
			if slices.ContainsFunc(call.Changes, func(c dns.Change) bool { return c.RecordSet().Name == "bad."+zoneName }) {
				return errBare
			}
			return nil
		}}
		w.zones.SetHooks(c.hooks(50 * time.Millisecond))
		w.start()
		waitIdle()
		w.objects.set("bad", record(t, "bad", "bad."+zoneName, "A", "192.0.2.66"))
		w.ask(0, 50, "192.0.2.1")
		time.Sleep(5 * time.Second)
		w.expectSets(50)
		for i := range 40 {
			name := fmt.Sprintf("later%02d", i)
			w.objects.set(name, record(t, name, name+"."+zoneName, "A", "192.0.2.1"))
			time.Sleep(2 * time.Second)
			w.expectPublished(name)
		}
		bad := slices.DeleteFunc(w.takeNotices(), func(s string) bool { return s[:11] == ReasonReady })
		if !slices.Equal(bad, []string{ReasonError + " FailedSync bad." + zoneName + " A status 500"}) {
			t.Errorf("notices %q", bad)
		}
	})
}

// A provider that fails every write is called less and less often. Everything is published when it
// works again.
func TestEveryBatchFails(t *testing.T) {
	for _, err := range []error{errBare, provider.ErrCredentials} {
		for _, namespaces := range []int{1, 2, 3, 100} {
			t.Run(fmt.Sprint(namespaces, " namespaces, ", err), func(t *testing.T) { everyBatchFails(t, namespaces, err) })
		}
	}
}

func everyBatchFails(t *testing.T, namespaces int, err error) {
	withFixture(t, func(t *testing.T, w *fixture) {
		c := called{fail: func(call inmemorytest.Call) error {
			if call.Operation == inmemorytest.Apply {
				return err
			}
			return nil
		}}
		w.zones.SetHooks(c.hooks(0))
		for i := range 500 {
			name := fmt.Sprintf("o%03d", i)
			w.asks(fmt.Sprint("n", i%namespaces), name, name+"."+zoneName, "A", "192.0.2.1")
		}
		w.start()
		time.Sleep(30 * time.Minute)
		if n := len(c.times(inmemorytest.Apply)); n < 20 || n > 60 {
			t.Errorf("%d writes in half an hour", n)
		}
		if notices := w.takeNotices(); len(notices) > 2*maxLoneFailures {
			t.Errorf("%d notices: %q", len(notices), notices)
		}
		c.mu.Lock()
		c.fail = nil
		c.mu.Unlock()
		time.Sleep(2 * DefaultInterval)
		w.expectSets(500)
	})
}

// If the records of one namespace make the provider fail without a reason, however many they are and
// however often they change, those of other namespaces are published at once.
func TestFailingNamesOfOneNamespace(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		c := called{fail: func(call inmemorytest.Call) error {
			if slices.ContainsFunc(call.Changes, func(c dns.Change) bool { return strings.HasPrefix(c.RecordSet().Name, "bad") }) {
				return errBare
			}
			return nil
		}}
		w.zones.SetHooks(c.hooks(50 * time.Millisecond))
		w.start()
		waitIdle()
		bad := func(version int) {
			for i := range 8 {
				w.asks("tenant", fmt.Sprint("bad", i), fmt.Sprintf("bad%d.%s", i, zoneName), "A", fmt.Sprintf("10.0.%d.%d", version, i))
			}
		}
		bad(0)
		time.Sleep(time.Minute)
		for i := range 20 {
			if i >= 10 {
				bad(i)
			}
			name := fmt.Sprint("good", i)
			w.asks("bank", name, name+"."+zoneName, "A", "192.0.2.1")
			time.Sleep(2 * time.Second)
			w.expectPublished(name)
			time.Sleep(30 * time.Second)
		}
		if n := len(c.times(inmemorytest.Apply)); n > 300 {
			t.Errorf("%d writes in 12 minutes", n)
		}
	})
}

// Credentials without a right for one name don't delay the other names, and the zone counts as failing.
func TestOneNameForbidden(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		c := called{fail: func(call inmemorytest.Call) error {
			if slices.ContainsFunc(call.Changes, func(c dns.Change) bool { return c.RecordSet().Name == "bad."+zoneName }) {
				return provider.ErrCredentials
			}
			return nil
		}}
		w.zones.SetHooks(c.hooks(50 * time.Millisecond))
		w.start()
		waitIdle()
		w.objects.set("bad", record(t, "bad", "bad."+zoneName, "A", "192.0.2.66"))
		time.Sleep(time.Second)
		if notices := w.takeNotices(); !slices.ContainsFunc(notices, func(s string) bool { return strings.HasPrefix(s, ReasonProvider) }) {
			t.Errorf("the zone isn't reported: %q", notices)
		}
		w.ask(0, 50, "192.0.2.1")
		time.Sleep(5 * time.Second)
		w.expectSets(50)
		for i := range 40 {
			name := fmt.Sprintf("later%02d", i)
			w.objects.set(name, record(t, name, name+"."+zoneName, "A", "192.0.2.1"))
			time.Sleep(2 * time.Second)
			w.expectPublished(name)
		}
	})
}
