package process

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/internal/leader"
)

// installation is one of two that campaign for a Lease, reduced to its election.
type installation struct {
	role *dnsRole
	log  childprocess.Log

	mu      sync.Mutex
	reasons []string
}

// notified returns the reasons of the Events that were sent so far.
func (i *installation) notified() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.reasons)
}

func newInstallation(t *testing.T, client *fake.Clientset, identity, publisherName string) *installation {
	t.Helper()
	o := configure.New()
	o.Name = publisherName
	o.Flags(pflag.NewFlagSet("publisher", pflag.ContinueOnError))
	publishers := []*configure.Options{o}
	elector, err := leader.New(leader.Config{
		Client: client.CoordinationV1(), Namespace: "kube-system", Name: "signpost-dns", Identity: identity, LeadsFor: configure.LeadsFor(publishers),
	})
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{}
	l := &leadership{elector: elector, fence: elector.Fence(), lease: "kube-system/signpost-dns"}
	i.role = &dnsRole{leadership: l}
	in := roleInput{Registerer: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&i.log, nil))}
	if i.role.unled, err = unledPublishers(in, l, publishers); err != nil {
		t.Fatal(err)
	}
	i.role.unled.sendWarning = func(reason, _ string) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.reasons = append(i.reasons, reason)
	}
	return i
}

func (i *installation) run(ctx context.Context) {
	go func() {
		_ = i.role.leadership.run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
	}()
	go func() { _ = i.role.unled.run(ctx) }()
}

// If two installations share a Lease, the standby reports once in /ready, status, metric, log and
// Event that its publishers aren't served, and when that has ended. A standby of the same
// installation reports nothing (split-horizon V10).
func TestStandbyWithOtherPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		public, same, private := newInstallation(t, client, "a_1", "public"), newInstallation(t, client, "b_1", "public"), newInstallation(t, client, "c_1", "private")
		first, end := context.WithCancel(t.Context())
		public.run(first)
		time.Sleep(5 * time.Second)
		others, stop := context.WithCancel(t.Context())
		same.run(others)
		private.run(others)
		time.Sleep(10 * time.Second)
		details, status := strings.Join(private.role.unled.details(), "\n"), private.role.unled.leading("dns")
		if !strings.Contains(details, "nothing is published for the publishers private: a_1 has the Lease kube-system/signpost-dns") || len(status.Unled) != 1 || status.Unled[0] != "private" {
			t.Errorf("/ready says %q, the status %+v", details, status)
		}
		if n := testutil.ToFloat64(private.role.unled.gauge); n != 1 {
			t.Errorf("the metric is %v", n)
		}
		if text := private.log.String(); text != "" {
			t.Errorf("it is logged at once, as in each rollout: %s", text)
		}
		time.Sleep(10 * time.Minute)
		if text := private.log.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "dns.leaderElection.resourceName") {
			t.Errorf("the log is %s", text)
		}
		if reasons := private.notified(); len(reasons) != 1 || reasons[0] != publisher.ReasonUnled {
			t.Errorf("the Events are %q", reasons)
		}
		for name, one := range map[string]*installation{"the leader": public, "a standby with its publishers": same} {
			if one.log.String() != "" || len(one.role.unled.leading("dns").Unled) > 0 || testutil.ToFloat64(one.role.unled.gauge) != 0 {
				t.Errorf("%s says %s, %+v", name, one.log.String(), one.role.unled.leading("dns"))
			}
		}
		end()
		for range 600 {
			if leads, _ := private.role.leadership.leads(); leads {
				break
			}
			if leads, _ := same.role.leadership.leads(); leads {
				break
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if leads, _ := private.role.leadership.leads(); leads && !strings.Contains(private.log.String(), "have a leader again") {
			t.Errorf("the log of the new leader is %s", private.log.String())
		}
		stop()
		synctest.Wait()
	})
}

// If two processes with other controllers share a Lease, the standby reports the controllers that nobody runs.
func TestStandbyWithOtherControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		campaign := func(identity string, names ...controllers.Name) (*unled, *childprocess.Log) {
			elector, err := leader.New(leader.Config{
				Client: client.CoordinationV1(), Namespace: "kube-system", Name: "signpost-controllers", Identity: identity, LeadsFor: controllersLed(names),
			})
			if err != nil {
				t.Fatal(err)
			}
			log := new(childprocess.Log)
			l := &leadership{elector: elector, fence: elector.Fence(), lease: "kube-system/signpost-controllers"}
			u := unledControllers(roleInput{Log: slog.New(slog.NewTextHandler(log, nil))}, l, names)
			go func() { _ = l.run(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil }) }()
			go func() { _ = u.run(t.Context()) }()
			time.Sleep(5 * time.Second)
			return u, log
		}
		first, firstLog := campaign("a_1", controllers.Endpoints, controllers.Mirroring)
		other, otherLog := campaign("b_1", controllers.Endpoints, controllers.EndpointSlices)
		less, lessLog := campaign("c_1", controllers.Endpoints)
		time.Sleep(10 * time.Minute)
		const want = "nobody runs the controllers endpointslices: a_1 has the Lease kube-system/signpost-controllers and runs others (endpoints, mirroring): give each installation a Lease of its own"
		if details := strings.Join(other.details(), "\n"); !strings.Contains(details, want) {
			t.Errorf("/ready says %q", details)
		}
		if status := other.leading("controllers"); strings.Join(status.Unled, " ") != "endpointslices" {
			t.Errorf("the status is %+v", status)
		}
		if text := otherLog.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, want) {
			t.Errorf("the log is %s", text)
		}
		if firstLog.String() != "" || lessLog.String() != "" || len(first.leading("controllers").Unled)+len(less.leading("controllers").Unled) > 0 {
			t.Errorf("the others say %s%s", firstLog, lessLog)
		}
	})
}

// A process whose requests for the Lease are refused reports the API server's message in /ready,
// status and problems from the start (day2 B2).
func TestRefusedRequestsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		refused := apierrors.NewForbidden(coordinationv1.Resource("leases"), "signpost-dns", errors.New(`User "signpost" cannot get resource "leases"`))
		var allowed atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return !allowed.Load(), nil, refused })
		i := newInstallation(t, client, "a_1", "public")
		ctx, stop := context.WithCancel(t.Context())
		i.run(ctx)
		time.Sleep(5 * time.Second)
		const want = `requests for the Lease kube-system/signpost-dns have failed for 5s: leases.coordination.k8s.io "signpost-dns" is forbidden: User "signpost" cannot get resource "leases"`
		details := strings.Join(i.role.unled.details(), "\n")
		if status := i.role.unled.leading("dns"); !strings.Contains(details, "leader election: "+want) || status.Trouble != want || status.Leader != "" {
			t.Errorf("/ready says %q, and the status %+v", details, status)
		}
		if problems := i.role.leadership.problems(); len(problems) != 1 || problems[0].Reason != want || problems[0].Object.Name != "signpost-dns" {
			t.Errorf("the problems are %+v", problems)
		}
		allowed.Store(true)
		time.Sleep(10 * time.Second)
		if problems, details := i.role.leadership.problems(), i.role.unled.details(); len(problems) > 0 || len(details) != 1 {
			t.Errorf("afterwards there are the problems %+v, and /ready says %q", problems, details)
		}
		stop()
		synctest.Wait()
	})
}
