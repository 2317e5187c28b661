package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// fixture is a namespace in which a test makes things happen, and sees what becomes of it.
type fixture struct {
	*testing.T
	*environment
	ns     string
	client kubernetes.Interface
	// rounds is how often the test waited for everything before to be settled.
	rounds *int
	// made is how many pods were made without a name being given.
	made *int
}

// play returns a fixture for a test that runs beside others.
func play(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return playAlone(t)
}

// playAlone returns a fixture for a test that no other runs beside: it may end terms, hold
// back what the controllers read, and have nodes that count.
func playAlone(t *testing.T) *fixture {
	t.Helper()
	controlled.start(t)
	return controlled.fixture(t)
}

// fixture returns a fixture of this environment.
func (w *environment) fixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{T: t, environment: w, ns: w.cluster.Namespace(t), client: w.cluster.Client, rounds: new(int), made: new(int)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the controllers wrote in namespace %s:\n%v", s.ns, s.journal.in(s.ns, 0))
			t.Logf("their log:\n%s", s.log.about(s.ns))
			t.Logf("what they don't know: %v", s.unseen(context.Background()))
		}
	})
	return s
}

// in returns the fixture as a subtest sees it.
func (s *fixture) in(t *testing.T) *fixture {
	sub := *s
	sub.T = t
	return &sub
}

// must fails the test when a request that the test makes itself fails.
func must[T any](s *fixture) func(T, error) T {
	return func(object T, err error) T {
		s.Helper()
		s.must(err)
		return object
	}
}

func (s *fixture) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// eventually waits until a condition holds.
func (s *fixture) eventually(condition func() error) {
	s.Helper()
	kubetest.Eventually(s, patience, condition)
}

// uid returns the UID of a pod, which tells a pod from another of its name.
func (s *fixture) uid(pod string) types.UID {
	s.Helper()
	return must[*corev1.Pod](s)(s.client.CoreV1().Pods(s.ns).Get(s.Context(), pod, metav1.GetOptions{})).UID
}
