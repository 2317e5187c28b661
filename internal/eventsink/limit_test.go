package eventsink

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The Events of a namespace that sends thousands cost another namespace none. They filled the queue, so that
// those of the other namespace were dropped.
func TestEventStormOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var quiet, stormy atomic.Int32
		client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Second / 10) // the rate limit of the client
			if a.GetNamespace() == "quiet" {
				quiet.Add(1)
			} else {
				stormy.Add(1)
			}
			return false, nil, nil
		})
		r := NewRecorders(client.CoreV1(), slog.New(slog.DiscardHandler))
		recorder := r.For("test")
		stop := r.Start()
		defer stop()
		send := func(namespace, name string) {
			recorder.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: namespace, Name: name}, corev1.EventTypeWarning, "Failed", "bad port")
		}
		for i := range 5000 {
			send("stormy", fmt.Sprint("web-", i))
		}
		send("quiet", "shop")
		time.Sleep(time.Minute)
		if quiet.Load() != 1 || stormy.Load() != eventsAtOnce {
			t.Errorf("%d Events of the quiet namespace and %d of the other were sent, want 1 and %d", quiet.Load(), stormy.Load(), eventsAtOnce)
		}
	})
}

// Namespaces that have sent nothing for a while are forgotten.
func TestLimitsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := namespaceLimits{of: map[string]*rate.Limiter{}}
		for i := range 3 * limitsKept {
			l.allow(fmt.Sprint("ns-", i))
			time.Sleep(time.Second)
		}
		if n := len(l.of); n > limitsKept {
			t.Errorf("%d namespaces are kept, want at most %d", n, limitsKept)
		}
	})
}
