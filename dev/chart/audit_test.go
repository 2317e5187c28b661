package chart

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// An auditEvent is what matters of a line of the API server's audit log (audit.k8s.io/v1 Event).
type auditEvent struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

func (e auditEvent) resource() string {
	if e.ObjectRef.Subresource != "" {
		return e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource
	}
	return e.ObjectRef.Resource
}

// by says which role allowed the request, in the words of the authorizer.
func (e auditEvent) by() string { return e.Annotations["authorization.k8s.io/reason"] }

func (e auditEvent) refused() bool {
	return e.Annotations["authorization.k8s.io/decision"] != "allow" || e.ResponseStatus.Code == 401 || e.ResponseStatus.Code == 403
}

func (e auditEvent) String() string {
	return fmt.Sprintf("%s %s: %d %s", e.Verb, e.RequestURI, e.ResponseStatus.Code, e.by())
}

// auditEvents returns what an account has asked the API server.
func auditEvents(t *testing.T, path, account string) (events []auditEvent) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line is being written
		}
		if e.User.Username == account {
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// A right is one verb of one resource that a role grants.
type right struct {
	namespace, verb, group, resource string
	names                            []string
}

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", r.verb, r.resource, r.group, strings.Join(r.names, ",")))
}

// covers says whether the right is what allows a request.
func (r right) covers(e auditEvent) bool {
	return r.verb == e.Verb && r.group == e.ObjectRef.Group && r.resource == e.resource() &&
		(r.namespace == "" || r.namespace == e.ObjectRef.Namespace) &&
		(len(r.names) == 0 || slices.Contains(r.names, e.ObjectRef.Name))
}

// rightsOf returns what the roles of a chart grant.
func rightsOf(t *testing.T, objects []*unstructured.Unstructured) (rights []right) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role
		if err := yaml.Unmarshal(text, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, path := range rule.NonResourceURLs {
				for _, verb := range rule.Verbs {
					rights = append(rights, right{verb: verb, resource: path})
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						rights = append(rights, right{role.Namespace, verb, group, resource, rule.ResourceNames})
					}
				}
			}
		}
	}
	return rights
}

// everything switches on all roles; two publishers read most sources and keep ownership in TXT
// records and in DNSRecords.
const everything = `
destination: {enabled: true}
controllers: {enabled: true}
dns:
  enabled: true
  publishers:
    - {name: public, source: [service, ingress, node, pod, crd], provider: inmemory, inmemory-zone: [example.org], policy: sync, txt-owner-id: public, interval: 1s, deletion-delay: 0s}
    - {name: internal, source: [service], provider: inmemory, inmemory-zone: [internal], policy: sync, registry: crd, txt-owner-id: internal, interval: 1s, deletion-delay: 0s}
crds: {dns: true}
`

// unasked returns why a right is granted that nothing in the test asks for, and nothing if it must
// be asked for.
func unasked(r right) string {
	switch {
	case r.verb == "list" && !slices.Contains([]string{"dnsrecords"}, r.resource):
		return "what is watched is listed where the API server doesn't stream lists (WatchList), and when a watch has fallen behind"
	case r.verb == "get" && (r.resource == "endpoints" || r.resource == "endpointslices"):
		return "an object is read again after a conflict"
	case strings.HasSuffix(r.resource, "/finalizers"):
		return "no request: the admission plug-in OwnerReferencesPermissionEnforcement asks for it when an owner is named that blocks"
	case r.resource == "endpoints/restricted":
		return "no request: distributions of Kubernetes ask for it when Endpoints have addresses of the pod network"
	default:
		return ""
	}
}

// Under the account of the chart nothing is refused, and what the chart grants is used: by what
// happens in a cluster on an ordinary day, or else unasked has a reason.
func TestAudit(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	cluster := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds", Nodes: 1, AuditLog: log})
	const namespace = "signpost"
	makeNamespace(t, cluster.Cluster, namespace)
	makeNamespace(t, cluster.Cluster, "linkerd")
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(everything), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := render(t, values, namespace)
	if err != nil {
		t.Fatal(err)
	}
	install(t, cluster.Cluster, objects)
	p := startAs(t, cluster.Cluster, objects, namespace)
	p.AwaitReady(t)
	day{t, cluster.Cluster, cluster.Namespace(t)}.pass()
	wantChecked(t, cluster.Cluster, p.config)
	p.Stop(20 * time.Second)
	startAs(t, cluster.Cluster, objects, namespace) // which finds the Event of the misspelled DNSEndpoint, and counts it

	rights := rightsOf(t, objects)
	kubetest.Eventually(t, time.Minute, func() error {
		var missing []string
		asked := requests(t, log, rights)
		for _, r := range rights {
			if !asked[r.String()] && unasked(r) == "" {
				missing = append(missing, r.String())
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("granted and never asked for:\n%s", strings.Join(missing, "\n"))
		}
		return nil
	})
}

// wantChecked fails the test if signpost check misses a right of the account.
func wantChecked(t *testing.T, cluster *kubetest.Cluster, config map[string]any) {
	t.Helper()
	config = maps.Clone(config)
	config["kubeconfig"] = cluster.Kubeconfig
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "signpost.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), signpost, "check", "--config", path, "--as", "system:serviceaccount:signpost:signpost")
	cmd.Env = append(os.Environ(), "POD_NAMESPACE=signpost")
	out, _ := cmd.CombinedOutput() // the exit code tells of other things, too, such as a Lease that is held
	for _, role := range []string{"destination", "controllers", "dns"} {
		if !regexp.MustCompile(`(?m)^rights of ` + role + `\n  ok .* has all`).Match(out) {
			t.Errorf("signpost check misses rights of %s:\n%s", role, out)
		}
	}
}

// agentForm matches the User-Agent of requests: the program, of which the API server makes the
// field manager, and roles. writers has the role at its end, by what it writes.
var (
	agentForm = regexp.MustCompile(`^signpost/\S+ \(\w+/\w+\) [a-z,]+$`)
	writers   = map[string]string{"create endpoints": ") controllers", "update endpoints": ") controllers", "create dnsrecords": ") dns", "update configmaps": ") dns"}
)

// requests returns which rights were used, and fails the test for each request that was refused, that
// something else than the chart allowed, or that doesn't name its role (before, the API server recorded
// "Go-http-client" as the writer of slices and Leases). What every account may do, such as asking which kinds
// there are, isn't about an object.
func requests(t *testing.T, log string, rights []right) map[string]bool {
	t.Helper()
	asked := map[string]bool{}
	for _, e := range auditEvents(t, log, "system:serviceaccount:signpost:signpost") {
		if e.refused() {
			t.Errorf("refused: %v", e)
		}
		if !agentForm.MatchString(e.UserAgent) || !strings.HasSuffix(e.UserAgent, writers[e.Verb+" "+e.ObjectRef.Resource]) {
			t.Errorf("%q has asked for it: %v", e.UserAgent, e)
		}
		granted := false
		for _, r := range rights {
			if r.covers(e) {
				asked[r.String()], granted = true, true
			}
		}
		if !granted && e.ObjectRef.Resource != "" {
			t.Errorf("the chart doesn't grant it, and something else does: %v", e)
		}
	}
	return asked
}

// A day is what happens in a namespace of a cluster.
type day struct {
	t         *testing.T
	cluster   *kubetest.Cluster
	namespace string
}

// shop is what people put into a cluster: with it each kind that Signpost writes is written. Its
// argument is the end of addresses.
const shop = `
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {external-dns.kubernetes.io/hostname: "web.example.org,web.internal"}
spec: {type: LoadBalancer, selector: {app: web}, ipFamilyPolicy: RequireDualStack, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.%[1]d}]}}
---
apiVersion: v1
kind: Service
metadata:
  name: old
  annotations: {external-dns.kubernetes.io/hostname: "old.example.org,old.internal"}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.%[1]d}]}}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {ports: [{port: 5432}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: db}
subsets: [{addresses: [{ip: 192.0.2.1%[1]d}], ports: [{port: 5432}]}]
---
apiVersion: workload.linkerd.io/v1beta1
kind: ExternalWorkload
metadata: {name: vm, labels: {app: web}}
spec:
  meshTLS: {identity: "spiffe://cluster.local/vm", serverName: vm.cluster.local}
  workloadIPs: [{ip: 192.0.2.2%[1]d}]
  ports: [{name: http, port: 8080}]
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: mail}
spec: {endpoints: [{dnsName: mail.example.org, recordType: A, targets: [192.0.2.%[1]d]}]}
`

// pod is a pod of the shop, which the cluster simulates.
const pod = `
apiVersion: v1
kind: Pod
metadata: {name: web-0, labels: {app: web}}
spec: {nodeName: node-0, containers: [{name: c, image: i}]}
`

// link is a Secret that links no cluster; its argument is a kubeconfig.
const link = `
apiVersion: v1
kind: Secret
metadata:
  name: link-west
  namespace: linkerd
  labels: {multicluster.linkerd.io/cluster-name: west}
  annotations: {multicluster.linkerd.io/trust-domain: cluster.local, multicluster.linkerd.io/cluster-domain: cluster.local}
type: mirror.linkerd.io/remote-kubeconfig
stringData: {kubeconfig: %q}
`

// misspelled is a DNSEndpoint that gives no record, about which there is an Event; its argument is a target.
const misspelled = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: misspelled}
spec: {endpoints: [{dnsName: wrong.example.org, recordType: A, targets: [%q]}]}
`

// pass lets objects come, change and go, each when what came before has had its effect.
func (d day) pass() {
	d.t.Helper()
	d.apply(pod, fmt.Sprintf(shop, 1), fmt.Sprintf(link, "{}"), fmt.Sprintf(misspelled, "nowhere"))
	d.await("slices of web", "endpointslices", "kubernetes.io/service-name=web", 3, "") // IPv4, IPv6, and the machine
	d.await("a slice of db", "endpointslices", "kubernetes.io/service-name=db", 1, "192.0.2.11")
	d.await("Endpoints", "endpoints", "", 3, "")
	d.await("DNSRecords", "dnsrecords", "", 2, "")
	d.await("an Event about the misspelled DNSEndpoint", "events", "", 1, "misspelled")

	d.apply(fmt.Sprintf(shop, 2), fmt.Sprintf(link, "a"), fmt.Sprintf(misspelled, "192.0.2.1"))
	d.await("the new slice of db", "endpointslices", "kubernetes.io/service-name=db", 1, "192.0.2.12")
	d.await("the new slice of the machine", "endpointslices", "kubernetes.io/service-name=web", 3, "192.0.2.22")
	d.await("new DNSRecords", "dnsrecords", "", 2, "192.0.2.2")
	d.await("a status of both DNSEndpoints", "dnsendpoints", "", 2, "Programmed")

	d.apply(fmt.Sprintf(link, "{}"), fmt.Sprintf(misspelled, "nowhere"))
	d.apply(strings.Replace(pod, "app: web}", "app: web}, annotations: {signpost.dev/ready: \"false\"}", 1))
	d.await("Endpoints that are not ready", "endpoints", "", 3, "notReadyAddresses")
	d.apply(strings.Replace(fmt.Sprintf(shop, 2), "RequireDualStack", "SingleStack", 1))
	d.await("a slice less", "endpointslices", "kubernetes.io/service-name=web", 2, "")
	for i, service := range []string{"old", "web"} {
		if err := d.cluster.Client.CoreV1().Services(d.namespace).Delete(d.t.Context(), service, metav1.DeleteOptions{}); err != nil {
			d.t.Fatal(err)
		}
		d.await("Endpoints less", "endpoints", "", 2-i, "")
		d.await("DNSRecords less", "dnsrecords", "", 1-i, "")
	}
}

func (d day) apply(manifests ...string) {
	d.t.Helper()
	for _, m := range manifests {
		d.cluster.Apply(d.t, m, d.namespace)
	}
}

var dayKinds = map[string]schema.GroupVersionResource{
	"endpointslices": discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
	"endpoints":      corev1.SchemeGroupVersion.WithResource("endpoints"),
	"events":         corev1.SchemeGroupVersion.WithResource("events"),
	"dnsendpoints":   {Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"},
	"dnsrecords":     {Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsrecords"},
}

// await waits until there are so many objects of a kind, and one of them contains a text.
// DNSRecords are in the namespace of Signpost. Of Events there may be more.
func (d day) await(what, kind, selector string, count int, text string) {
	d.t.Helper()
	namespace := d.namespace
	if kind == "dnsrecords" {
		namespace = "signpost"
	}
	kubetest.Eventually(d.t, time.Minute, func() error {
		list, err := d.cluster.Dynamic.Resource(dayKinds[kind]).Namespace(namespace).List(d.t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		if got := len(list.Items); got != count && !(kind == "events" && got > count) {
			return fmt.Errorf("there are %d %s, want %d: %s", got, kind, count, what)
		}
		for _, item := range list.Items {
			if content, err := item.MarshalJSON(); err == nil && strings.Contains(string(content), text) {
				return nil
			}
		}
		if count == 0 {
			return nil
		}
		return fmt.Errorf("none of the %s contains %q: %s", kind, text, what)
	})
}
