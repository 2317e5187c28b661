// Package kubetest gives tests a real API server: etcd and kube-apiserver on the loopback interface, run by
// the program dev/localcluster. On first use the program is built into the repository's bin/, which takes
// minutes, once.
//
// Tests of one binary share a cluster, and each uses its own namespace:
//
//	func TestMain(m *testing.M) { kubetest.Main(m, kubetest.WithCRDs("../deploy/crds")) }
//
//	func TestSomething(t *testing.T) {
//		cluster := kubetest.Start(t)
//		namespace := cluster.Namespace(t)
//		cluster.Apply(t, manifests, namespace) // a document's status is applied, too
//		kubetest.Eventually(t, 5*time.Second, func() error { … })
//	}
//
// The shared cluster has no controllers, scheduler or nodes, so a namespace contains only the test's objects.
// They are deleted at the end of the test. A test that needs more, or that breaks things, starts a cluster of
// its own with StartOwn. A package that checks for leaked goroutines passes Wrap(m) to goleak.VerifyTestMain.
//
// No process outlives the test binary, even if that is killed, and clusters remove their own directories.
//
// # Concurrency
//
// Everything may be called from parallel tests. As package testing requires, functions that can fail the test
// are called from the test's goroutine.
package kubetest

import (
	"sync"
	"testing"
)

// Runner is the part of *testing.M that kubetest needs; goleak.VerifyTestMain takes the same.
type Runner interface {
	Run() int
}

// Option configures the shared cluster.
type Option func(*Options)

// WithCRDs applies the CustomResourceDefinitions of a directory, a path relative to the package under test.
func WithCRDs(dir string) Option {
	return func(options *Options) { options.CRDs = dir }
}

// Main runs the tests and stops the shared cluster. TestMain calls it and returns; package testing then
// exits.
func Main(m *testing.M, options ...Option) {
	Wrap(m, options...).Run()
}

// Wrap returns a Runner that runs the tests and stops the shared cluster.
func Wrap(m Runner, options ...Option) Runner {
	for _, option := range options {
		option(&shared.options)
	}
	return wrapped{m}
}

type wrapped struct{ Runner }

// Run runs the tests and stops the shared cluster.
func (w wrapped) Run() int {
	defer shared.stop()
	return w.Runner.Run()
}

// Start returns the cluster that all tests of this binary share. The first call starts it.
func Start(t testing.TB) *Cluster {
	t.Helper()
	cluster, err := shared.start()
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
	return cluster
}

// shared is the cluster of this test binary. It is a global variable, because package testing offers no other
// place between TestMain and the tests.
var shared sharedCluster

type sharedCluster struct {
	options Options // set before the tests run

	mu      sync.Mutex
	begun   bool
	cluster *Cluster
	err     error
}

func (s *sharedCluster) start() (*Cluster, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		s.cluster, s.err = startCluster(s.options)
	}
	return s.cluster, s.err
}

func (s *sharedCluster) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != nil {
		s.cluster.close()
		s.cluster = nil
	}
	s.begun = false
}
