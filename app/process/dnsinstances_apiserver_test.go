package process

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// Finding of tenants, two processes with one owner ID: two processes, as those of two clusters,
// with one owner ID on one zone of a BIND. Neither deletes what the other one has made, and each
// deletes its own.
func (api roleServer) testDNSInstances(t *testing.T) {
	b := startBIND(t, "")
	east, west := api.Namespace(t), api.Namespace(t)
	api.startInstance(t, b, east, "")
	api.startInstance(t, b, west, "west")
	api.Apply(t, published("e1", "192.0.2.1"), east)
	api.Apply(t, published("e2", "192.0.2.1"), east)
	api.Apply(t, published("w1", "192.0.2.2"), west)
	api.Apply(t, published("w2", "192.0.2.2"), west)
	b.awaitNames(t, "a-e1 TXT", "a-e2 TXT", "a-w1 TXT", "a-w2 TXT", "e1 A", "e2 A", "w1 A", "w2 A")
	for namespace, name := range map[string]string{east: "e1", west: "w1"} {
		if err := api.Client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.awaitNames(t, "a-e2 TXT", "a-w2 TXT", "e2 A", "w2 A")
	// Each has read the zone several times by then.
	api.Apply(t, published("e3", "192.0.2.1"), east)
	api.Apply(t, published("w3", "192.0.2.2"), west)
	b.awaitNames(t, "a-e2 TXT", "a-e3 TXT", "a-w2 TXT", "a-w3 TXT", "e2 A", "e3 A", "w2 A", "w3 A")
}

// startInstance starts a process with the common owner ID.
func (api roleServer) startInstance(t *testing.T, b bind, namespace, instance string) {
	t.Helper()
	args := slices.DeleteFunc(b.args(api, namespace), func(arg string) bool { return strings.HasPrefix(arg, "--txt-owner-id=") })
	args = append(args, "--txt-owner-id=one", "--instance="+instance, "--interval=1s", "--deletion-delay=0s", "--max-deletions-percent=100", "--metrics-address=127.0.0.1:0")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "SIGNPOST_TEST_AS_COMMAND=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
}

// awaitNames waits until the zone has these names and types, and nothing else.
func (b bind) awaitNames(t *testing.T, want ...string) {
	t.Helper()
	kubetest.Eventually(t, 30*time.Second, func() error {
		if diff := gocmp.Diff(want, b.names(t)); diff != "" {
			return errNotYet(diff)
		}
		return nil
	})
}

type errNotYet string

// Error implements error.
func (e errNotYet) Error() string { return "zone (-want +got):\n" + string(e) }
