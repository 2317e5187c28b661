package linked

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// badToken makes a kubeconfig well-formed, and no good.
func badToken(c *api.Config) {
	for _, u := range c.AuthInfos {
		u.ClientCertificateData, u.ClientKeyData, u.Token = nil, nil, "wrong"
	}
}

// M7: well-formed credentials that don't work ended the connection that worked, and the cluster
// stayed frozen. M8: meanwhile, new domains were not told to the catalog.
// Credentials with fewer rights would take away what was read of optional kinds.
func TestRotationToFewerRights(t *testing.T) {
	cluster := kubetest.Start(t)
	there := cluster.Namespace(t)
	applyService(t, cluster, there, "web")
	f := start(t, cluster)
	user := f.rotateToFewerRights(t, cluster, there)
	f.wantEvent("cluster-credentials-east", "Warning CredentialsUnusable", "which the previous one has read")
	grant(t, cluster, user, `"*"`)
	f.awaitInForce("east")
}

// rotateToFewerRights links the cluster east, and then gives it the kubeconfig of a user who may read the
// required kinds only. It returns the name of the user, which ends in that of the namespace.
func (f *fixture) rotateToFewerRights(t *testing.T, cluster *kubetest.Cluster, namespace string) (user string) {
	t.Helper()
	east := linkTo("east", cluster, t)
	f.create(east)
	f.await("east", Synced, "")
	user = "rotated-" + namespace
	grant(t, cluster, user, requiredOnly)
	east.Data[kubeconfigKey] = []byte(kubeconfigAs(t, cluster, user))
	f.update(east)
	f.await("east", Synced, "stays in force: it can't read")
	return user
}

// requiredOnly are the resources that a linked cluster must let us read.
const requiredOnly = "pods, services, replicasets, endpointslices"

// grant lets a user list and watch resources.
func grant(t *testing.T, cluster *kubetest.Cluster, user, resources string) {
	t.Helper()
	cluster.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: `+user+`}
rules:
- {apiGroups: ["*"], resources: [`+resources+`], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+user+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: `+user+`}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: `+user+`}]
`, "")
}

// kubeconfigAs returns a kubeconfig with the rights of a user.
func kubeconfigAs(t *testing.T, cluster *kubetest.Cluster, user string) string {
	t.Helper()
	return kubeconfigOf(t, cluster, func(c *api.Config) {
		for _, u := range c.AuthInfos {
			u.Impersonate = user
		}
	})
}

// An API server that fails for a while may come back, so credentials with fewer rights still don't
// take away what was read of optional kinds. They do once the previous ones are refused.
func TestRotationToFewerRightsWhileTheServerFails(t *testing.T) {
	cluster := kubetest.Start(t)
	there := cluster.Namespace(t)
	applyService(t, cluster, there, "web")
	old := &failing{}
	f := startWith(t, cluster, kinds.FromEndpointSlices, func(s *Set) {
		s.open = func(o kube.Options, tables ...kube.AnyTable) (*kube.Cluster, error) {
			if o.Config.Impersonate.UserName == "" {
				o.Config.Wrap(old.wrap)
			}
			return kube.New(o, tables...)
		}
	})
	f.rotateToFewerRights(t, cluster, there)

	old.with(http.StatusServiceUnavailable)
	f.await("east", Stale, "stays in force: it can't read")
	began := time.Now()
	old.with(http.StatusUnauthorized)
	f.await("east", Stale, "unauthorized")
	f.awaitInForce("east")
	if took := time.Since(began); took < refusedLimit {
		t.Errorf("the new credentials came into force after %v, want %v at least: a refusal may pass", took, refusedLimit)
	}
	f.wantService("east", there, "web")
}

// failing is a transport whose requests fail with a status, if one is set.
type failing struct {
	mu     sync.Mutex
	status int
	open   []context.CancelFunc
}

func (f *failing) wrap(next http.RoundTripper) http.RoundTripper { return failingTripper{f, next} }

// with ends all open requests, and makes the next ones fail.
func (f *failing) with(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = status
	for _, end := range f.open {
		end()
	}
	f.open = nil
}

type failingTripper struct {
	*failing
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f failingTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(r.Context())
	f.mu.Lock()
	status := f.status
	f.open = append(f.open, end)
	f.mu.Unlock()
	if status != 0 {
		body := io.NopCloser(strings.NewReader(fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d}`, status)))
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r}, nil
	}
	return f.next.RoundTrip(r.WithContext(ctx))
}

// An API server that has moved doesn't come back at its old address, so credentials with fewer rights for the
// new address come into force in the end. If both fail, the server may come back.
func TestRotationToFewerRightsFromALostServer(t *testing.T) {
	cluster := kubetest.Start(t)
	there := cluster.Namespace(t)
	applyService(t, cluster, there, "web")
	former, next := &failing{}, &failing{}
	const limit = 3 * time.Second
	f := startWith(t, cluster, kinds.FromEndpointSlices, func(s *Set) {
		s.lostLimit = limit
		s.open = func(o kube.Options, tables ...kube.AnyTable) (*kube.Cluster, error) {
			wrap := former.wrap
			if o.Config.Impersonate.UserName != "" {
				wrap = next.wrap
			}
			o.Config.Wrap(wrap)
			return kube.New(o, tables...)
		}
	})
	f.rotateToFewerRights(t, cluster, there)

	next.with(http.StatusServiceUnavailable)
	former.with(http.StatusServiceUnavailable)
	f.await("east", Stale, "stays in force: server error")
	began := time.Now()
	next.with(0)
	f.await("east", Stale, "stays in force: it can't read")
	f.awaitInForce("east")
	if took := time.Since(began); took < limit {
		t.Errorf("the new credentials came into force after %v, want %v at least: the server may come back", took, limit)
	}
	f.wantService("east", there, "web")
}

// A connection is refused if the API server says so of a required kind, and lost if no required kind can be
// read.
func TestFailureOfAConnection(t *testing.T) {
	table := func(required bool, state kube.State, reason kube.Reason) kube.TableStatus {
		return kube.TableStatus{Required: required, Filled: true, State: state, Reason: reason}
	}
	synced := table(true, kube.Synced, "")
	for name, test := range map[string]struct {
		tables []kube.TableStatus
		want   failure
	}{
		"synced":                 {[]kube.TableStatus{synced}, working},
		"unauthorized":           {[]kube.TableStatus{table(true, kube.Waiting, kube.Unauthorized), synced}, refused},
		"forbidden":              {[]kube.TableStatus{table(true, kube.Waiting, kube.Forbidden), synced}, refused},
		"one is unreachable":     {[]kube.TableStatus{table(true, kube.Waiting, kube.Unreachable), synced}, working},
		"one has a server error": {[]kube.TableStatus{table(true, kube.Waiting, kube.ServerError), synced}, working},
		"all are unreachable":    {[]kube.TableStatus{table(true, kube.Waiting, kube.Unreachable), table(false, kube.Synced, "")}, lost},
		"an optional forbidden":  {[]kube.TableStatus{table(false, kube.Waiting, kube.Forbidden), synced}, working},
	} {
		if got := failureOf(test.tables); got != test.want {
			t.Errorf("%s: failure is %v, want %v", name, got, test.want)
		}
	}
	since := time.Now()
	conn := &connection{lostLimit: lostLimit}
	if conn.hopelessIn(since) != forever {
		t.Error("a connection that works is hopeless")
	}
	for f, limit := range map[failure]time.Duration{refused: refusedLimit, lost: lostLimit} {
		conn.noteFailure(f, since)
		conn.noteFailure(f, since.Add(time.Second))
		if got := conn.hopelessIn(since.Add(limit - 1)); got != 1 {
			t.Errorf("the failure %v is hopeless in %v, want 1ns", f, got)
		}
		if got := conn.hopelessIn(since.Add(limit)); got != 0 {
			t.Errorf("the failure %v is hopeless in %v, want 0s", f, got)
		}
	}
}

func TestBadRotation(t *testing.T) {
	cluster := kubetest.Start(t)
	there := cluster.Namespace(t)
	applyService(t, cluster, there, "web")
	f := start(t, cluster)
	east := linkTo("east", cluster, t)
	good := east.Data[kubeconfigKey]
	f.create(east)
	f.await("east", Synced, "")

	t.Log("the old credentials stay in force, and their data flows")
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken))
	f.update(east)
	f.await("east", Synced, "the new kubeconfig doesn't work, and the previous one stays in force: unauthorized")
	f.wantEvent("cluster-credentials-east", "Warning CredentialsUnusable", "stays in force: unauthorized")
	applyService(t, cluster, there, "later")
	f.wantService("east", there, "later")
	if n := f.gauge("linked_cluster_credentials_pending"); n != 1 {
		t.Errorf("linked_cluster_credentials_pending is %v, want 1", n)
	}

	t.Log("new domains hold at once")
	east.Annotations[trustDomainAnnotation] = "new.trust"
	f.update(east)
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "new.trust", ClusterDomain: "east.local", Synced: true})

	t.Log("also if they come with other credentials that don't work")
	east.Annotations[clusterDomainAnnotation] = "new.local"
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken) + "\n# again\n")
	f.update(east)
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "new.trust", ClusterDomain: "new.local", Synced: true})

	t.Log("credentials that work take over, with their domains and metrics")
	east.Annotations[trustDomainAnnotation] = "third.trust"
	east.Data[kubeconfigKey] = []byte(string(good) + "\n# rotated\n")
	f.update(east)
	f.awaitInForce("east")
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "third.trust", ClusterDomain: "new.local", Synced: true})
	applyService(t, cluster, there, "last")
	f.wantService("east", there, "last")
	if n := f.gauge("service_cache_size"); n < 3 {
		t.Errorf("service_cache_size is %v: the new connection has no metrics", n)
	}

	t.Log("who takes the change back needs no new connection")
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken))
	f.update(east)
	f.await("east", Synced, "stays in force")
	east.Data[kubeconfigKey] = []byte(string(good) + "\n# rotated\n")
	f.update(east)
	f.awaitInForce("east")
}

// awaitInForce waits until the newest credentials of a cluster are in force.
func (f *fixture) awaitInForce(name string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		for _, s := range f.set.Status() {
			if s.Cluster == name && s.State == Synced && s.Reason == "" {
				return nil
			}
		}
		return fmt.Errorf("%+v", f.set.Status())
	})
}

// day2 B7: of two Secrets for one cluster the one in force was deleted, and its credentials stayed
// in use as long as those of the other one didn't work.
func TestCredentialsOfDeletedSecretsEnd(t *testing.T) {
	api := kubetest.Start(t)
	there := api.Namespace(t)
	applyService(t, api, there, "web")
	broken := func() *corev1.Secret {
		s := secretWith("second", kubeconfigOf(t, api, badToken))
		s.Labels[clusterNameLabel] = "east"
		return s
	}
	wantEnded := func(t *testing.T, f *fixture) {
		t.Helper()
		f.await("east", Connecting, "unauthorized")
		f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "second.trust", ClusterDomain: "second.local"})
		if _, known := f.catalog.FindService(catalog.ServiceKey{Cluster: "east", Namespace: there, Name: "web"}); known {
			t.Error("a Service that was read with the deleted credentials is still known")
		}
	}
	withBoth := func(t *testing.T) (f *fixture, inForce *corev1.Secret) {
		f = start(t, api)
		inForce = linkTo("east", api, t)
		f.create(inForce)
		f.await("east", Synced, "")
		f.create(broken())
		f.await("east", Unusable, "linked by the Secret cluster-credentials-east already")
		return f, inForce
	}

	t.Run("deleted", func(t *testing.T) {
		f, inForce := withBoth(t)
		f.remove(inForce)
		wantEnded(t, f)
		mended := broken()
		mended.Data[kubeconfigKey] = inForce.Data[kubeconfigKey]
		f.update(mended)
		f.awaitInForce("east")
		f.wantService("east", there, "web")
	})

	t.Run("names another cluster", func(t *testing.T) {
		f, inForce := withBoth(t)
		inForce.Labels[clusterNameLabel] = "orient"
		f.update(inForce)
		wantEnded(t, f)
		f.await("orient", Synced, "")
	})

	t.Run("deleted while the other one is tried", func(t *testing.T) {
		f := start(t, api)
		older := broken()
		older.Data[kubeconfigKey] = []byte("garbage")
		f.create(older)
		f.await("east", Unusable, "not a kubeconfig")
		inForce := linkTo("east", api, t)
		f.awaitNextSecond(inForce, older.Name)
		f.create(inForce)
		f.await("east", Synced, "")
		f.update(broken())
		f.await("east", Synced, "stays in force: unauthorized")
		f.remove(inForce)
		wantEnded(t, f)
	})
}

// awaitNextSecond waits until a Secret would be younger than another one that exists: their times
// have no fractions.
func (f *fixture) awaitNextSecond(s *corev1.Secret, than string) {
	f.t.Helper()
	secrets := f.api.Client.CoreV1().Secrets(f.namespace)
	older, err := secrets.Get(f.t.Context(), than, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	kubetest.Eventually(f.t, soon, func() error {
		would, err := secrets.Create(f.t.Context(), s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if !older.CreationTimestamp.Before(&would.CreationTimestamp) {
			return errors.New("still the same second")
		}
		return nil
	})
}

// day2 B7: each kind had a warning of its own, as if the objects that are served couldn't be read.
func TestOneWarningAboutANewKubeconfig(t *testing.T) {
	api := kubetest.Start(t)
	f := start(t, api)
	east := linkTo("east", api, t)
	f.create(east)
	f.await("east", Synced, "")
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, api, badToken))
	f.update(east)
	f.wantEvent("cluster-credentials-east", "CredentialsUnusable", "unauthorized")
	f.mu.Lock()
	defer f.mu.Unlock()
	warnings := regexp.MustCompile(`level=WARN msg="([^"]*)"`).FindAllStringSubmatch(f.log.String(), -1)
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0][1], "The new kubeconfig of a linked cluster") {
		t.Errorf("the warnings are %q, want one about the new kubeconfig", warnings)
	}
}

// A kubeconfig that is written again in another form, such as with a comment, has the connection that is in force. The
// cluster isn't read once more, and nothing is logged.
func TestSameKubeconfigInAnotherForm(t *testing.T) {
	cluster := kubetest.Start(t)
	var opened atomic.Int32
	f := startWith(t, cluster, kinds.FromEndpointSlices, func(s *Set) {
		s.open = func(o kube.Options, tables ...kube.AnyTable) (*kube.Cluster, error) {
			opened.Add(1)
			return kube.New(o, tables...)
		}
	})
	east := linkTo("east", cluster, t)
	f.create(east)
	f.await("east", Synced, "")
	for _, domain := range []string{"one.test", "two.test", "three.test"} {
		east.Data[kubeconfigKey] = append([]byte("# written for "+domain+"\n"), east.Data[kubeconfigKey]...)
		east.Annotations[trustDomainAnnotation] = domain
		f.update(east)
		f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: domain, ClusterDomain: east.Annotations[clusterDomainAnnotation], Synced: true})
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}
