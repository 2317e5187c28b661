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

// fixture is a namespace for a test, with clients and assertions.
type fixture struct {
	*testing.T
	*environment
	ns     string
	client kubernetes.Interface
	// rounds counts the calls of settle.
	rounds *int
	// made counts the pods that were created without a given name.
	made *int
}

// play returns a fixture for a test that runs in parallel with others.
func play(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	return playAlone(t)
}

// playAlone returns a fixture for a test that runs alone, so that it may end terms, delay watches, and add
// nodes that count in the distribution over zones.
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

// in returns the fixture for a subtest.
func (s *fixture) in(t *testing.T) *fixture {
	sub := *s
	sub.T = t
	return &sub
}

// must fails the test if a request of the test itself fails.
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

// uid returns the UID of a pod.
func (s *fixture) uid(pod string) types.UID {
	s.Helper()
	return must[*corev1.Pod](s)(s.client.CoreV1().Pods(s.ns).Get(s.Context(), pod, metav1.GetOptions{})).UID
}
