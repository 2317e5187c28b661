package configmap

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// Day2 B10: an immutable ConfigMap is read, and refuses writes with an error that says what to do.
func TestImmutable(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	client := clientAs(t, cluster, "")
	s := New(client, namespace, "", "default")
	if err := s.Update(t.Context(), replaceBy("one")); err != nil {
		t.Fatal(err)
	}
	yes := true
	edit(t, client.ConfigMaps(namespace), s.name, func(m *corev1.ConfigMap) { m.Immutable = &yes })
	if err := s.Update(t.Context(), replaceBy("two")); !errors.Is(err, budget.ErrNoStore) || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("write: %v", err)
	}
	wantStored(t, s, "one")
	if err := client.ConfigMaps(namespace).Delete(t.Context(), s.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), replaceBy("three")); err != nil {
		t.Errorf("after it was deleted: %v", err)
	}
}

func edit(t *testing.T, maps corev1client.ConfigMapInterface, name string, change func(*corev1.ConfigMap)) {
	t.Helper()
	m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
