package check

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers/endpointslices"
	"github.com/signpostd/signpost/controllers/mirroring"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// tokenOf returns a token of a new service account without rights.
func tokenOf(t *testing.T, api *kubetest.Cluster, namespace string) string {
	t.Helper()
	ctx := context.Background()
	accounts := api.Client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(ctx, "plain", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

func TestReach(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	account := types.NamespacedName{Namespace: "default", Name: "signpost"}
	config := wholeConfig(t, "default", settings.DestinationSection)
	wrong := rest.CopyConfig(api.Config)
	wrong.TLSClientConfig.CertData, wrong.TLSClientConfig.KeyData, wrong.TLSClientConfig.CertFile, wrong.TLSClientConfig.KeyFile = nil, nil, "", ""
	wrong.BearerToken = "wrong"
	for name, test := range map[string]struct {
		rest *rest.Config
		want string
		code int
	}{
		"answers":     {rest: api.Config, want: "ok the API server " + api.Config.Host + " answers: v1.", code: 1},
		"credentials": {rest: wrong, want: "failed the API server " + api.Config.Host + " doesn't accept the credentials", code: 1},
		"closed port": {rest: &rest.Config{Host: "https://127.0.0.1:1"}, want: "unknown the API server https://127.0.0.1:1 can't be reached: ", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := Run(context.Background(), Checks(inputOf(test.rest, config, account)), testLimit)
			lines := group(report, "cluster")
			if len(lines) != 1 || !strings.HasPrefix(lines[0], test.want) || report.ExitCode() != test.code {
				t.Errorf("exit code %d, %q; want %d, %q", report.ExitCode(), lines, test.code, test.want)
			}
			if rights := group(report, "rights of destination"); test.code == 2 && !cmp.Equal(rights, []string{"unknown the rights of destination couldn't be checked, because the API server is unreachable"}) {
				t.Errorf("rights: %q", rights)
			}
		})
	}
}

// If the API server accepts connections but doesn't respond, the checks end in time, and the
// provider is checked (O4).
func TestAPIServerThatHangs(t *testing.T) {
	t.Parallel()
	api := kubetest.StartOwn(t, kubetest.Options{})
	config := dnsConfig(t, "--source=service", "--provider=inmemory", "--inmemory-zone=example.org", "--policy=sync")
	s := inputOf(api.Config, config, types.NamespacedName{Namespace: "default", Name: "signpost"})
	api.Stop(kubetest.APIServer)
	defer api.Continue(kubetest.APIServer)
	// The signal takes effect a moment later.
	kubetest.Eventually(t, 30*time.Second, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := api.Client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error(); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the API server answers: %v", err)
		}
		return nil
	})
	start := time.Now()
	report := Run(context.Background(), Checks(s), 2*time.Second)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if lines := group(report, "cluster"); len(lines) != 1 || !strings.Contains(lines[0], "can't be reached: no answer in time") || report.ExitCode() != 2 {
		t.Errorf("exit code %d, %q", report.ExitCode(), lines)
	}
	if lines := group(report, "zones"); len(lines) == 0 || !strings.HasPrefix(lines[0], "ok the zone example.org can be read") {
		t.Errorf("zones: %q", lines)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	api, bare := kubetest.Start(t), kubetest.StartOwn(t, kubetest.Options{})
	account := types.NamespacedName{Namespace: "default", Name: "signpost"}
	dnsFlags := []string{"--provider=inmemory", "--policy=sync"}
	for name, test := range map[string]struct {
		rest   *rest.Config
		config settings.Config
		want   []string
	}{
		"everything is there": {rest: api.Config, config: wholeConfig(t, "default", settings.DestinationSection, settings.ControllersSection)},
		"what may be missing": {rest: bare.Config, config: wholeConfig(t, "default", settings.DestinationSection), want: []string{
			"note the cluster has no externalworkloads.workload.linkerd.io (v1beta1), which destination would read",
			"note the cluster has no servers.policy.linkerd.io (v1beta3), which destination would read",
			"note the cluster has no serviceprofiles.linkerd.io (v1alpha2), which destination would read",
		}},
		"a source that was asked for": {rest: api.Config, config: dnsConfig(t, append(dnsFlags, "--source=istio-gateway")...), want: []string{
			"failed the cluster has no gateways.networking.istio.io (v1), which --source=istio-gateway would read",
		}},
		"a version that isn't served": {rest: api.Config, config: dnsConfig(t, append(dnsFlags, "--source=crd", "--crd-source-apiversion=externaldns.k8s.io/v1", "--crd-source-kind=DNSEndpoint")...), want: []string{
			"failed the cluster has dnsendpoints.externaldns.k8s.io in v1alpha1, and not in v1, which --source=crd would read: the objects exist and can't be read",
		}},
		"registry": {rest: bare.Config, config: dnsConfig(t, append(dnsFlags, "--source=service", "--registry=crd")...), want: []string{
			"failed the cluster has no dnsrecords.externaldns.k8s.io (v1alpha1), which --registry=crd would read",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := group(Run(context.Background(), Checks(inputOf(test.rest, test.config, account)), testLimit), "kinds")
			if diff := cmp.Diff(test.want, only(lines)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s\nin %q", diff, lines)
			}
		})
	}
}

// An optional kind that exists in another version only is a problem (day2 B3).
func TestKindInAnotherVersion(t *testing.T) {
	documents := map[string]string{
		"/version": `{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}`,
		"/api":     `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": `{"kind": "APIGroupList", "groups": [` + groupOf("workload.linkerd.io", "v1beta2") + groupOf("policy.linkerd.io", "v1") + groupOf("linkerd.io", "v1alpha2") +
			groupOf("discovery.k8s.io", "v1") + groupOf("apps", "v1") + strings.TrimSuffix(groupOf("batch", "v1"), ",") + `]}`,
		"/apis/workload.linkerd.io/v1beta2":   `{"kind": "APIResourceList", "groupVersion": "workload.linkerd.io/v1beta2", "resources": [{"name": "externalworkloads"}]}`,
		"/apis/policy.linkerd.io/v1":          `{"kind": "APIResourceList", "groupVersion": "policy.linkerd.io/v1", "resources": [{"name": "meshtlsauthentications"}]}`,
		"/apis/linkerd.io/v1alpha2":           `{"kind": "APIResourceList", "groupVersion": "linkerd.io/v1alpha2", "resources": [{"name": "serviceprofiles"}]}`,
		"/apis/discovery.k8s.io/v1":           `{"kind": "APIResourceList", "groupVersion": "discovery.k8s.io/v1", "resources": [{"name": "endpointslices"}]}`,
		"/apis/apps/v1":                       `{"kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [{"name": "replicasets"}]}`,
		"/apis/batch/v1":                      `{"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [{"name": "jobs"}]}`,
		"/api/v1":                             `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "services"}, {"name": "pods"}, {"name": "nodes"}, {"name": "secrets"}]}`,
		"/apis/coordination.k8s.io/v1/leases": `{"items": []}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if documents[r.URL.Path] == "" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "code": 404}`)
			return
		}
		fmt.Fprint(w, documents[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	a := inputOf(&rest.Config{Host: server.URL}, wholeConfig(t, "default", settings.DestinationSection), types.NamespacedName{Namespace: "default", Name: "signpost"})
	lines := only(group(Run(context.Background(), Checks(a), testLimit), "kinds"))
	want := []string{
		"failed the cluster has externalworkloads.workload.linkerd.io in v1beta2, and not in v1beta1, which destination would read: the objects exist and can't be read",
		"note the cluster has no servers.policy.linkerd.io (v1beta3), which destination would read; of this group it has v1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// groupOf returns a group with one version, as an element of a list.
func groupOf(name, version string) string {
	return fmt.Sprintf(`{"name": %[1]q, "versions": [{"groupVersion": "%[1]s/%[2]s", "version": %[2]q}]},`, name, version)
}

// lease creates a Lease with a holder and an age.
func lease(t *testing.T, api *kubetest.Cluster, namespace, name, holder string, ago time.Duration) {
	t.Helper()
	seconds, renewed := int32(15), metav1.NewMicroTime(time.Now().Add(-ago))
	_, err := api.Client.CoordinationV1().Leases(namespace).Create(context.Background(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// pod returns the manifest of a pod with a label and a status.
func pod(name, label, args, status string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {%s}}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: main, image: none, args: [%s], securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
status: %s
`, name, label, args, status)
}

// The pods of all namespaces are checked, so the steps run in one cluster, one after the other.
func TestInstalled(t *testing.T) {
	t.Parallel()
	const label = "app.kubernetes.io/name: signpost"
	api := kubetest.StartOwn(t, kubetest.Options{})
	namespace := api.Namespace(t)
	s := inputOf(api.Config, wholeConfig(t, namespace, settings.ControllersSection), types.NamespacedName{Namespace: namespace, Name: "signpost"})
	at := namespace + "/signpost-controllers"
	eventually(t, s, "installation", []string{
		"note no pod of Signpost runs yet: none in all namespaces has the label app.kubernetes.io/name=signpost",
		"ok controllers has no other leader by the Lease " + at,
	})
	api.Apply(t, pod("one", label, "", `{phase: Running, conditions: [{type: Ready, status: "True"}]}`), namespace)
	eventually(t, s, "installation", []string{"ok 1 of 1 pods of Signpost are ready", "warning controllers has no leader by the Lease " + at})
	lease(t, api.Cluster, namespace, "signpost-controllers", "one_abc", 0)
	api.Apply(t, pod("two", label, "", `{phase: Pending, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: main, image: none, imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}}]}`), namespace)
	eventually(t, s, "installation", []string{
		"ok 1 of 2 pods of Signpost are ready",
		"failed the pod " + namespace + "/two isn't ready: the container main waits: CrashLoopBackOff",
		"ok one_abc leads controllers by the Lease " + at,
	})
	if err := api.Client.CoordinationV1().Leases(namespace).Delete(context.Background(), "signpost-controllers", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lease(t, api.Cluster, namespace, "signpost-controllers", "other_abc", 0)
	lines := group(Run(context.Background(), Checks(s), testLimit), "installation")
	if want := "warning other_abc leads controllers by the Lease " + at + ", and is none of the pods of Signpost"; lines[len(lines)-1] != want {
		t.Errorf("got %q, want %q", lines, want)
	}
}

// Only the pods of the installation count, and what it needs must exist.
func TestInstallation(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	namespace, other := api.Namespace(t), api.Namespace(t)
	const labels = "app.kubernetes.io/name: signpost, app.kubernetes.io/instance: "
	ready := `{phase: Running, conditions: [{type: Ready, status: "True"}]}`
	api.Apply(t, pod("ours", labels+"here", "", ready), namespace)
	api.Apply(t, pod("neighbour", labels+"there", "", ready), namespace)
	api.Apply(t, pod("theirs", labels+"here", "", ready), other)
	api.Apply(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n", namespace)
	s := inputOf(api.Config, wholeConfig(t, namespace, settings.DestinationSection), types.NamespacedName{Namespace: namespace, Name: "signpost"})
	s.Config.Destination.ExternalWorkloadWriter = false
	s.Pods = Pods{namespace, "app.kubernetes.io/name=signpost,app.kubernetes.io/instance=here"}
	s.Needs = Needs{Secrets: []string{"cert", "key"}, Namespaces: map[string]string{other: "Role a", "no-such-namespace": "Role b"}}
	eventually(t, s, "installation", []string{
		"failed the namespace no-such-namespace doesn't exist: Role b of the manifests can't be created in it",
		"failed the Secret " + namespace + "/cert doesn't exist: no pod starts",
		"ok 1 of 1 pods of Signpost are ready",
	})
}

// Each linked cluster is asked with the credentials of its Secret.
func TestLinks(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	s := inputOf(api.Config, wholeConfig(t, namespace, settings.DestinationSection), types.NamespacedName{Namespace: namespace, Name: "signpost"})
	link := func(name, server, credentials string) {
		t.Helper()
		kubeconfig := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: u, user: {%s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}",
			server, base64.StdEncoding.EncodeToString(api.Config.CAData), credentials)
		_, err := api.Client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "link-" + name, Labels: map[string]string{linked.Selector: name}, Annotations: map[string]string{"multicluster.linkerd.io/trust-domain": "a", "multicluster.linkerd.io/cluster-domain": "b"}},
			Type:       "mirror.linkerd.io/remote-kubeconfig", Data: map[string][]byte{"kubeconfig": []byte(kubeconfig)},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if lines := group(Run(t.Context(), Checks(s), testLimit), "linked clusters"); lines != nil {
		t.Errorf("without links: %q", lines)
	}
	admin := fmt.Sprintf("client-certificate-data: %s, client-key-data: %s", base64.StdEncoding.EncodeToString(api.Config.CertData), base64.StdEncoding.EncodeToString(api.Config.KeyData))
	link("a-fit", api.Config.Host, admin)
	link("b-rights", api.Config.Host, "token: "+tokenOf(t, api, namespace))
	link("c-refused", api.Config.Host, "token: wrong")
	link("d-closed", "https://127.0.0.1:1", admin)
	link("e-file", api.Config.Host, "tokenFile: /token")
	at := "the Secret " + namespace + "/link-"
	var missing []string
	for _, r := range rbac.Linked(kinds.FromEndpointSlices).Rules {
		missing = append(missing, fmt.Sprintf("the linked cluster b-rights: the account of %sb-rights may not list, watch %s in all namespaces", at, schema.GroupResource{Group: r.Group, Resource: r.Resource}))
	}
	want := slices.Concat([]string{"ok the linked cluster a-fit: the account of " + at + "a-fit has all 12 rights that it needs"}, missing, []string{
		"failed the linked cluster c-refused: the API server " + api.Config.Host + " doesn't accept the credentials",
		"unknown the linked cluster d-closed: the API server https://127.0.0.1:1 can't be reached: ",
		"failed " + at + `e-file links no cluster: its kubeconfig can't be used: user "u" of its current context: `,
	})
	lines := group(Run(t.Context(), Checks(s), testLimit), "linked clusters")
	if !slices.EqualFunc(lines, want, strings.Contains) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// A Lease that is held before the installation is a note; a released one isn't.
func TestLeases(t *testing.T) {
	t.Parallel()
	api := kubetest.Start(t)
	for name, test := range map[string]struct {
		ago  time.Duration
		want string
	}{
		"held":    {want: "note old_1 leads dns by the Lease AT, and renewed it "},
		"expired": {ago: time.Hour, want: "ok dns has no other leader by the Lease AT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := api.Namespace(t)
			lease(t, api, namespace, "signpost-dns", "old_1", test.ago)
			s := inputOf(api.Config, wholeConfig(t, namespace, settings.DNSSection), types.NamespacedName{Namespace: namespace, Name: "signpost"})
			lines := group(Run(context.Background(), Checks(s), testLimit), "installation")
			if want := strings.ReplaceAll(test.want, "AT", namespace+"/signpost-dns"); !strings.HasPrefix(lines[len(lines)-1], want) {
				t.Errorf("got %q, want %q", lines, want)
			}
		})
	}
}

// The controller manager is found by its Lease, its writes and its command line.
func TestWriters(t *testing.T) {
	t.Parallel()
	const label = "component: kube-controller-manager"
	api := kubetest.StartOwn(t, kubetest.Options{})
	namespace := api.Namespace(t)
	s := inputOf(api.Config, wholeConfig(t, namespace, settings.ControllersSection), types.NamespacedName{Namespace: namespace, Name: "signpost"})
	const nobody = "ok no other program wrote an existing EndpointSlice that Signpost would write"
	eventually(t, s, "other writers", []string{nobody})
	lease(t, api.Cluster, "kube-system", "kube-controller-manager", "host_1", 0)
	own := api.Client.DiscoveryV1().EndpointSlices(namespace)
	for _, step := range []struct{ writer, name, label, want string }{
		{"signpost", "ours", endpointslices.ManagedBy, nobody},
		{"somebody", "other", "somebody", nobody},
		{"somebody", "theirs", mirroring.ManagedBy, "failed somebody writes EndpointSlices: it wrote " + namespace + "/theirs "},
		{manager, "web", endpointslices.ManagedBy, "failed kube-controller-manager writes EndpointSlices: it wrote " + namespace + "/web "},
	} {
		if _, err := own.Create(context.Background(), sliceOf(step.name, step.label), metav1.CreateOptions{FieldManager: step.writer}); err != nil {
			t.Fatal(err)
		}
		report := Run(context.Background(), Checks(s), testLimit)
		lines := group(report, "other writers")
		if text := fmt.Sprintf("%+v", report); strings.HasPrefix(step.want, "failed") && !strings.Contains(text, "; if that was done since, check again in 10 min") {
			t.Errorf("%s: no hint says until when a write counts: %s", step.name, text)
		}
		if len(lines) != 1 || !strings.HasPrefix(lines[0], step.want) {
			t.Errorf("%s by %s: got %q, want %q", step.name, step.writer, lines, step.want)
		}
		if step.writer == "somebody" && step.name == "theirs" {
			// Times are in whole seconds: the next writer must be the last one.
			if err := own.Delete(context.Background(), step.name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	running := `{phase: Running, conditions: [{type: Ready, status: "True"}]}`
	api.Apply(t, pod("kcm-a", label, `"--controllers=*,-endpoints-controller,-endpointslice,-endpointslice-mirroring-controller"`, running), "kube-system")
	eventually(t, s, "other writers", []string{"ok kube-controller-manager runs without endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller"})
	api.Apply(t, pod("kcm-b", label, `"--controllers", "*,-endpointslice-controller"`, running), "kube-system")
	eventually(t, s, "other writers", []string{"failed kube-controller-manager runs endpoints-controller, endpointslice-mirroring-controller, which would undo what Signpost writes"})
	s.Config.Controllers.Controllers = []string{"externalworkloads"}
	eventually(t, s, "other writers", nil)
}
