package process

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// roleServer is the API server that roles run with.
type roleServer struct{ *kubetest.Cluster }

// controllersConfig returns a config with controllers whose Lease is in the namespace.
func (api roleServer) controllersConfig(namespace string) settings.Config {
	c := settings.Default()
	c.RunsControllers, c.Process.Kubeconfig = true, api.Kubeconfig
	c.Controllers.Leader = quickLeader(c.Controllers.Leader, namespace)
	return c
}

func (api roleServer) destinationConfig(namespace string) settings.Config {
	c := settings.Default()
	c.RunsDestination, c.Process.Kubeconfig = true, api.Kubeconfig
	c.Destination.ControllerNamespace = namespace
	c.Destination = c.Destination.Settled()
	c.Destination.Leader = quickLeader(c.Destination.Leader, namespace)
	return c
}

func quickLeader(o settings.Leader, namespace string) settings.Leader {
	o.ResourceNamespace = namespace
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 10*time.Second, 5*time.Second, 200*time.Millisecond
	return o
}

// stop ends the process.
func (s served) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// addresses returns the addresses in the slices of a Service that a controller manages.
func (api roleServer) addresses(namespace, service, manager string) ([]string, error) {
	list, err := api.Client.DiscoveryV1().EndpointSlices(namespace).List(context.Background(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service + "," + discoveryv1.LabelManagedBy + "=" + manager,
	})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			found = append(found, e.Addresses...)
		}
	}
	slices.Sort(found)
	return found, nil
}

// await waits until the slices of a Service have these addresses.
func (api roleServer) await(t *testing.T, namespace, service, manager string, want ...string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		got, err := api.addresses(namespace, service, manager)
		if err != nil {
			return err
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			return fmt.Errorf("slices of %s by %s (-want +got):\n%s", service, manager, diff)
		}
		return nil
	})
}

// awaitEndpoints waits until the Endpoints of a Service have these addresses.
func (api roleServer) awaitEndpoints(t *testing.T, namespace, service string, want ...string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		e, err := api.Client.CoreV1().Endpoints(namespace).Get(context.Background(), service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, s := range e.Subsets {
			for _, a := range s.Addresses {
				got = append(got, a.IP)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			return fmt.Errorf("Endpoints %s (-want +got):\n%s", service, diff)
		}
		return nil
	})
}

// awaitReady waits until the process is ready and /ready has the detail.
func (s served) awaitReady(t *testing.T, detail string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		if code, body := s.fetch(t, "/ready"); code != 200 || !strings.Contains(body, detail) {
			return fmt.Errorf("/ready: %d, %s", code, body)
		}
		return nil
	})
}

// wantMetrics waits until /metrics has lines that begin with these samples. It has to wait
// because a request is counted after its effect can be seen.
func (s served) wantMetrics(t *testing.T, samples ...string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		_, text := s.fetch(t, "/metrics")
		for _, want := range samples {
			if !strings.Contains(text, "\n"+want) {
				return fmt.Errorf("/metrics lacks %s", want)
			}
		}
		return nil
	})
}

func (api roleServer) awaitEvent(t *testing.T, namespace, reason string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		list, err := api.Client.CoreV1().Events(namespace).List(context.Background(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("no Event %s", reason)
		}
		return err
	})
}

// kubeconfigOf returns the path of a kubeconfig of a user who has these roles, which are in a
// file in deploy/rbac. Roles for Leases and links are bound in the namespace, the others
// everywhere.
func (api roleServer) kubeconfigOf(t *testing.T, namespace, file string, roles ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/rbac/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	user := "user-of-" + namespace
	objects := string(text)
	for _, role := range roles {
		kind := "ClusterRoleBinding"
		if strings.HasSuffix(role, "-lease") || strings.HasSuffix(role, "-links") || strings.HasSuffix(role, "-budget") {
			kind = "RoleBinding"
		}
		objects += fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: {name: %s-%s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[3]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[2]s}]
`, kind, user, role)
	}
	api.Apply(t, objects, namespace)
	return api.KubeconfigAs(t, func(info *clientcmdapi.AuthInfo) { info.Impersonate = user })
}

func (api roleServer) wantReleased(t *testing.T, namespace, name string) {
	t.Helper()
	lease, err := api.Client.CoordinationV1().Leases(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("after the end the lease is still held by %s", *holder)
	}
}
