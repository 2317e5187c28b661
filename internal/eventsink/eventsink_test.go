package eventsink_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/internal/eventsink"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

func TestName(t *testing.T) {
	for object, want := range map[string]string{
		"shop": "shop.", "Sh_op": "sh-op.", "-.x.-": "x.", "": "object.", "ä": "object.", strings.Repeat("a", 300): strings.Repeat("a", 236) + ".",
	} {
		got := eventsink.Name(object, "a", "b")
		if !strings.HasPrefix(got, want) || len(got) != len(want)+16 {
			t.Errorf("%q: %q, want %q and a hash", object, got, want)
		}
		if wrong := validation.IsDNS1123Subdomain(got); len(wrong) > 0 {
			t.Errorf("%q: %v", got, wrong)
		}
	}
	same := eventsink.Name("shop", "a", "b")
	if again := eventsink.Name("shop", "a", "b"); again != same {
		t.Errorf("%q and %q", same, again)
	}
	for _, says := range [][]string{{"a", "c"}, {"ab", ""}, {"a"}, {"", "ab"}, {"b", "a"}} {
		if other := eventsink.Name("shop", says...); other == same {
			t.Errorf("%q has the name of another Event", says)
		}
	}
	if eventsink.Name("Shop", "a", "b") == same {
		t.Error("objects with similar names have Events of one name")
	}
}

// sendEvent sends an Event as one process does, and ends the process once the condition holds.
func sendEvent(t *testing.T, client kubernetes.Interface, namespace, message string, until func([]corev1.Event) bool) {
	t.Helper()
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(eventsink.New(client.CoreV1()))
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "test"})
	recorder.Event(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop", UID: "uid-1"}}, corev1.EventTypeWarning, "Failed", message)
	kubetest.Eventually(t, 10*time.Second, func() error {
		list, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && !until(list.Items) {
			err = fmt.Errorf("%d Events: %+v", len(list.Items), list.Items)
		}
		return err
	})
}

// Seven processes that send the same Event leave one, which counts them. The API server is a real one.
func TestRealAPIServer(t *testing.T) {
	c := kubetest.Start(t)
	namespace := c.Namespace(t)
	for i := range int32(7) {
		sendEvent(t, c.Client, namespace, "bad port", func(all []corev1.Event) bool { return len(all) == 1 && all[0].Count == i+1 })
	}
	sendEvent(t, c.Client, namespace, "bad name", func(all []corev1.Event) bool { return len(all) == 2 })
}

// Without the right to patch, an existing Event is no failure.
func TestWithoutTheRightToPatch(t *testing.T) {
	client := fake.NewClientset()
	tried := 0
	client.PrependReactor("patch", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		tried++
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("no"))
	})
	s := eventsink.New(client.CoreV1())
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x.1"}, InvolvedObject: corev1.ObjectReference{Namespace: "web", Name: "x"}, Count: 1}
	for range 2 {
		if made, err := s.Create(e); err != nil || made == nil {
			t.Errorf("%v, %v", made, err)
		}
	}
	if tried != 1 {
		t.Errorf("%d patches", tried)
	}
	if e.Name != "x.1" {
		t.Errorf("the Event of the caller has the name %s", e.Name)
	}
}
