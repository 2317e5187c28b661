package configmap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// clientAs returns a client of the cluster, of a user if one is given.
func clientAs(t *testing.T, c *kubetest.Cluster, user string) corev1client.CoreV1Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout = 10 * time.Second
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1()
}

func replaceBy(text string) func([]byte) []byte {
	return func([]byte) []byte { return []byte(text) }
}

// wantStored checks what a store has.
func wantStored(t *testing.T, s *Store, want string) {
	t.Helper()
	if got, err := s.Load(t.Context()); err != nil || string(got) != want {
		t.Errorf("%s %s has %q, %v; want %q", s.name, s.entry, got, err, want)
	}
}

// On a real API server: what is stored is read by the next process, owners and publishers are kept
// apart, and what others have put into the ConfigMap stays.
func TestStore(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	client := clientAs(t, cluster, "")
	s := New(client, namespace, "", "default")
	wantStored(t, s, "")
	for _, text := range []string{"one", "two", "two"} {
		if err := s.Update(t.Context(), replaceBy(text)); err != nil {
			t.Fatal(err)
		}
		wantStored(t, New(client, namespace, "", "default"), text)
	}
	for _, other := range []*Store{New(client, namespace, "", "Team A/ß"), New(client, namespace, "inside", "default"), New(client, namespace, "In Side", "default")} {
		wantStored(t, other, "")
		if err := other.Update(t.Context(), replaceBy("other")); err != nil {
			t.Fatal(err)
		}
		wantStored(t, other, "other")
	}
	maps := client.ConfigMaps(namespace)
	m, err := maps.Get(t.Context(), "signpost-dns-budget", metav1.GetOptions{})
	if err != nil || len(m.Data) != 2 {
		t.Fatalf("%v, %v", m, err)
	}
	m.Annotations = map[string]string{"example.org/note": "ours"}
	m.Data["README"] = "Don't delete this."
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), replaceBy("three")); err != nil {
		t.Fatal(err)
	}
	if m, err = maps.Get(t.Context(), m.Name, metav1.GetOptions{}); err != nil || m.Data["README"] == "" || m.Annotations["example.org/note"] != "ours" || m.Data["default.json"] != "three" {
		t.Errorf("%v, %v", m, err)
	}
	// Somebody has emptied or deleted it.
	m.Data = nil
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), replaceBy("four")); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), m.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, "")
	if err := s.Update(t.Context(), replaceBy("five")); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, "five")
}

// Somebody writes between the read and the write: the change is made again, on top of theirs.
func TestConflict(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	client := clientAs(t, cluster, "")
	for _, begin := range []string{"", "begin"} {
		s := New(client, namespace, begin, "default")
		if begin != "" {
			if err := s.Update(t.Context(), replaceBy(begin)); err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		err := s.Update(t.Context(), func(stored []byte) []byte {
			if calls++; calls == 1 {
				if err := New(client, namespace, begin, "default").Update(t.Context(), replaceBy("theirs")); err != nil {
					t.Error(err)
				}
			}
			return append(stored, "+ours"...)
		})
		if err != nil || calls != 2 {
			t.Errorf("%d calls, %v", calls, err)
		}
		wantStored(t, s, "theirs+ours")
		// One who is always faster wins.
		err = s.Update(t.Context(), func([]byte) []byte {
			calls++
			if err := New(client, namespace, begin, "default").Update(t.Context(), replaceBy(fmt.Sprint(calls))); err != nil {
				t.Error(err)
			}
			return []byte("ours")
		})
		if err == nil || errors.Is(err, budget.ErrNoStore) || !strings.Contains(err.Error(), "write the ConfigMap "+namespace+"/"+s.name) {
			t.Errorf("always a conflict: %v", err)
		}
	}
}

// What can't be stored is [budget.ErrNoStore]: without the right, and when it
// has no room. With the role it works.
func TestNoStore(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	user := "somebody-" + namespace
	forbidden := New(clientAs(t, cluster, user), namespace, "", "default")
	admin := clientAs(t, cluster, "")
	large := New(admin, namespace, "large", "default")
	for name, err := range map[string]error{
		"no right to read":     load(t, forbidden),
		"no right to write":    forbidden.Update(t.Context(), replaceBy("x")),
		"namespace is gone":    New(admin, "nonesuch", "", "default").Update(t.Context(), replaceBy("x")),
		"more than a megabyte": large.Update(t.Context(), replaceBy(strings.Repeat("x", 1<<20+1))),
	} {
		if !errors.Is(err, budget.ErrNoStore) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 900 {
			t.Errorf("%s: the error is long: %v", name, err)
		}
	}
	giveRights(t, cluster, namespace, user)
	kubetest.Eventually(t, 10*time.Second, func() error { return forbidden.Update(t.Context(), replaceBy("allowed")) })
	wantStored(t, forbidden, "allowed")
}

func load(t *testing.T, s *Store) error {
	t.Helper()
	_, err := s.Load(t.Context())
	return err
}

// giveRights gives a user the role of deploy/rbac/dns.yaml.
func giveRights(t *testing.T, c *kubetest.Cluster, namespace, user string) {
	t.Helper()
	rights, err := os.ReadFile("../../../deploy/rbac/dns.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, string(rights), "")
	c.Apply(t, strings.ReplaceAll(binding, "USER", user), namespace)
}

// binding gives a user the role of deploy/rbac/dns.yaml.
const binding = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: budget}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: signpost-dns-budget}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`

// No text of a publisher or owner makes a name that the API server refuses, or that another has.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"a", "inside", "0x0123456789abcdef", "In Side", "in-side-", "ß", "../x", strings.Repeat("a", 40), strings.Repeat("a", 41), strings.Repeat("ä", 5000), "0"} {
		name := recognisable(text)
		if len(name) > 40 || strings.ToLower(name) != name || strings.ContainsAny(name, "/ ßä.") {
			t.Errorf("%.50q is called %q", text, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%.50q and %.50q are called %q", text, other, name)
		}
		seen[name] = text
	}
}

// A context that ends, ends a call.
func TestCancelled(t *testing.T) {
	cluster := kubetest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := New(clientAs(t, cluster, ""), cluster.Namespace(t), "", "default")
	if err := s.Update(ctx, replaceBy("x")); err == nil || errors.Is(err, budget.ErrNoStore) {
		t.Errorf("a call that was cancelled: %v", err)
	}
}
