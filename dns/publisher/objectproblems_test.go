package publisher

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// The problems of objects are listed from their first evaluation until they are corrected or deleted,
// by the leader and by a standby.
func TestObjectProblems(t *testing.T) {
	for _, standby := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFixture(t)
			w.standby = standby
			w.objects.set("bad", invalid(t, "bad", "a.shop.test", "192.0.2.300"))
			w.objects.set("gone", invalid(t, "gone", "b.shop.test", "192.0.2.300"))
			w.objects.fail("broken", errors.New("no address"))
			begun := time.Now()
			w.start()
			defer w.stop()
			waitIdle()
			time.Sleep(time.Minute)
			w.objects.set("gone")
			w.objects.set("bad", invalid(t, "bad", "a.shop.test", "192.0.2.300"), record(t, "bad", "c.shop.test", "A", "192.0.2.3"))
			waitIdle()
			var got []string
			for _, p := range w.publisher.ObjectProblems() {
				got = append(got, fmt.Sprintf("%s/%s %v %s", p.Object.Namespace, p.Object.Name, p.Since.Sub(begun).Round(time.Minute), p.Text(quote)))
			}
			want := []string{
				`default/bad 0s target of the A record set a.shop.test is "192.0.2.300": not an IPv4 address, as an A record has`,
				`default/broken 0s no address; its records stay unchanged`,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("standby %v: the problems are (-want +got):\n%s", standby, diff)
			}
			w.objects.set("bad", record(t, "bad", "a.shop.test", "A", "192.0.2.1"))
			w.objects.set("broken", record(t, "broken", "d.shop.test", "A", "192.0.2.1"))
			waitIdle()
			if left := w.publisher.ObjectProblems(); len(left) > 0 {
				t.Errorf("standby %v: after the correction the problems are %v", standby, left)
			}
		})
	}
}

// The list is limited, as a whole and for one object.
func TestObjectProblemsAreBounded(t *testing.T) {
	var o objectProblems
	of := func(i int) desired.Origin { return desired.Origin{Source: "service", Name: fmt.Sprintf("%05d", i)} }
	var many []dns.Problem
	for i := range 2 * maxOriginProblems {
		many = append(many, dns.Problem{Reason: fmt.Sprint(i)})
	}
	for i := range 2 * maxObjectProblems {
		o.replace(of(i), many)
	}
	if o.n != maxObjectProblems || len(o.of[of(0)]) != maxOriginProblems {
		t.Errorf("%d problems are listed, %d of one object", o.n, len(o.of[of(0)]))
	}
	if o.replace(of(0), nil); o.n != maxObjectProblems-maxOriginProblems || len(o.of) != o.n/maxOriginProblems {
		t.Errorf("after one object is correct, %d problems of %d objects are listed", o.n, len(o.of))
	}
}
