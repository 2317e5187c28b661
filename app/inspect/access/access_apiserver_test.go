package access_test

import (
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/access"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// account makes a service account and returns what makes tokens of it.
func account(t *testing.T, cluster *kubetest.Cluster, namespace, name string) (token func(audiences ...string) string) {
	t.Helper()
	accounts := cluster.Client.CoreV1().ServiceAccounts(namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func(audiences ...string) string {
		made, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made.Status.Token
	}
}

// tenants S4: a real API server tells a token for the approval of a plan from all others.
func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	own, other := account(t, cluster, namespace, "signpost"), account(t, cluster, namespace, "other")
	bindings := cluster.Client.RbacV1().ClusterRoleBindings()
	binding, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "may-check-tokens-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "signpost"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bindings.Delete(t.Context(), binding.Name, metav1.DeleteOptions{}) })
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = own()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	const hash, another = "0123456789abcdef", "fedcba9876543210"
	audience := inspect.ApproveAudience(hash)
	reviewer := access.New(client)
	for name, test := range map[string]struct{ token, path, want string }{
		"for this plan":         {own(audience), inspect.ApprovePath(hash), ""},
		"for another plan":      {own(audience), inspect.ApprovePath(another), "not valid"},
		"of another account":    {other(audience), inspect.ApprovePath(hash), "may not post"},
		"for the API server":    {own(), inspect.ApprovePath(hash), "may not post"},
		"for a list":            {own(audience), inspect.PlanPath, "not valid"},
		"forged":                {forged(own(audience)), inspect.ApprovePath(hash), "not valid"},
		"another one, for here": {other(), inspect.ApprovePath(hash), "may not post"},
	} {
		t.Run(name, func(t *testing.T) {
			err := reviewer.Allow(t.Context(), inspect.Attempt{Token: test.token, Verb: "post", Path: test.path})
			var refused *inspect.Refused
			if (err == nil) != (test.want == "") || err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// forged returns a token with another signature of the same length: a shorter one may look cut off.
func forged(token string) string {
	middle := len(token) - 40 // within the signature
	other := "A"
	if token[middle:middle+1] == other {
		other = "B"
	}
	return token[:middle] + other + token[middle+1:]
}
