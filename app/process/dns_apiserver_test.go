package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/preview"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/logtest"
)

// TestDNSOnAPIServer runs `signpost dns` with a real API server and a real BIND.
func TestDNSOnAPIServer(t *testing.T) {
	api := roleServer{kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster}
	t.Run("a record comes and goes", api.testDNSRecord)
	t.Run("replicas", api.testDNSReplicas)
	t.Run("instances", api.testDNSInstances)
	t.Run("the leader dies", api.testDNSLeaderDies)
	t.Run("plan and approval", api.testDNSApproval)
	t.Run("approval in the running process", api.testDNSApprovalRunning)
	t.Run("split horizon", api.testDNSSplitHorizon)
	t.Run("conditions", api.testDNSConditions)
	t.Run("inspection", api.testDNSInspection)
	t.Run("namespaces", api.testDNSNamespaces)
	t.Run("work ends", api.testDNSWorkEnds)
}

const dnsSecret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

var dnsKey = bindtest.Key{Name: "k", Algorithm: "hmac-sha256", Secret: dnsSecret}

// bind is a BIND that serves the zone example.test.
type bind struct{ *bindtest.Server }

func startBIND(t *testing.T, records string) bind {
	t.Helper()
	return bind{bindtest.Serve(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: "example.test", Key: "k", Records: records}},
		Keys:  []bindtest.Key{dnsKey},
	})}
}

// args returns the flags that publish the Services of a namespace in the zone.
func (b bind) args(api roleServer, namespace string) []string {
	return []string{
		"--kubeconfig=" + api.Kubeconfig, "--source=service", "--namespace=" + namespace, "--policy=sync", "--provider=rfc2136",
		"--rfc2136-host=127.0.0.1", "--rfc2136-port=" + strconv.Itoa(int(b.Addr.Port())), "--rfc2136-zone=example.test", "--rfc2136-axfr",
		"--rfc2136-tsig-keyname=k", "--rfc2136-tsig-secret=" + dnsSecret, "--rfc2136-tsig-secret-alg=hmac-sha256",
		"--txt-owner-id=" + namespace, "--leader-elect-resource-namespace=" + namespace,
	}
}

// dnsConfig returns what `signpost dns` with these arguments runs with.
func dnsConfig(t *testing.T, args ...string) settings.Config { return dnsFlags(t, args...).Config }

func dnsFlags(t *testing.T, args ...string) *settings.DNSFlags {
	t.Helper()
	c := settings.NewDNSFlags()
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	c.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(flags); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns the sorted answers of the server over UDP.
func (b bind) ask(name string, rrtype uint16) ([]string, error) {
	query := new(mdns.Msg)
	query.SetQuestion(name, rrtype)
	reply, _, err := (&mdns.Client{Timeout: 2 * time.Second}).Exchange(query, b.Addr.String())
	if err != nil {
		return nil, err
	}
	var answers []string
	for _, rr := range reply.Answer {
		answers = append(answers, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	slices.Sort(answers)
	return answers, nil
}

// await waits until the server has exactly these A records of a name. If there are any, it
// has to have their ownership record too.
func (b bind) await(t *testing.T, label string, want ...string) {
	t.Helper()
	kubetest.Eventually(t, deliveryTimeout, func() error {
		got, err := b.ask(label+".example.test.", mdns.TypeA)
		if err != nil {
			return err
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%s (-want +got):\n%s", label, diff)
		}
		markers, err := b.ask("a-"+label+".example.test.", mdns.TypeTXT)
		if err == nil && len(markers) != min(len(want), 1) {
			err = fmt.Errorf("markers of %s: %v", label, markers)
		}
		return err
	})
}

// names returns the name and type of each A and TXT record of the zone.
func (b bind) names(t *testing.T) []string {
	t.Helper()
	records, err := b.Transfer("example.test", dnsKey)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, rr := range records {
		if h := rr.Header(); h.Rrtype == mdns.TypeA || h.Rrtype == mdns.TypeTXT {
			names = append(names, strings.TrimSuffix(h.Name, ".example.test.")+" "+mdns.TypeToString[h.Rrtype])
		}
	}
	slices.Sort(names)
	return names
}

// endpointB is a DNSEndpoint with a record.
const endpointB = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: records}
spec: {endpoints: [{dnsName: b.example.test, recordType: A, targets: [192.0.2.3]}]}
`

// published returns a Service with a record.
func published(name, address string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, annotations: {external-dns.kubernetes.io/hostname: %[1]s.example.test}}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: %s}]}}
`, name, address)
}

func (api roleServer) testDNSRecord(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "")
	s := serveConfig(t, dnsConfig(t, b.args(api, ns)...))
	s.awaitReady(t, "leader: this process, without election")
	api.Apply(t, published("shop", "192.0.2.1"), ns)
	b.await(t, "shop", "192.0.2.1")
	kubetest.Eventually(t, deliveryTimeout, func() error {
		list, err := api.Client.EventsV1().Events(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "RecordReady" && e.Regarding.Kind == "Service" && e.Regarding.Name == "shop" && e.Type == "Normal" &&
				strings.HasPrefix(e.Note, "(external-dns) record:shop.example.test,owner:"+ns+",type:A,") {
				return nil
			}
		}
		return fmt.Errorf("no such Event among %d", len(list.Items))
	})
	s.wantMetrics(t, `external_dns_source_records{record_type="a"} 1`, `external_dns_registry_records{record_type="a"} 1`, "external_dns_build_info{")
	api.Apply(t, published("shop", "192.0.2.2"), ns)
	b.await(t, "shop", "192.0.2.2")
	if err := api.Client.CoreV1().Services(ns).Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, "shop")
	s.stop(t)
	if got := b.names(t); len(got) > 0 {
		t.Errorf("left in the zone: %v", got)
	}
}

func (api roleServer) testDNSReplicas(t *testing.T) {
	ns := api.Namespace(t)
	t.Setenv("POD_NAMESPACE", ns) // without a store, the second one would hold deletions
	b := startBIND(t, "")
	args := append(b.args(api, ns), "--leader-elect", "--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=200ms")
	first := serveConfig(t, dnsConfig(t, args...))
	first.awaitReady(t, "leader: this process, ")
	second := serveConfig(t, dnsConfig(t, args...))
	second.awaitReady(t, "ok\nleader: ")
	api.Apply(t, published("a", "192.0.2.1"), ns)
	b.await(t, "a", "192.0.2.1")
	if _, body := second.fetch(t, "/ready"); strings.Contains(body, "this process") {
		t.Errorf("the second process leads, too: %s", body)
	}
	// A zone with records of ours of which the budget knows nothing would hold deletions.
	kubetest.Eventually(t, deliveryTimeout, func() error {
		_, err := api.Client.CoreV1().ConfigMaps(ns).Get(context.Background(), "signpost-dns-budget", metav1.GetOptions{})
		return err
	})
	first.stop(t)
	// The lease would last for ten seconds if it had not been released.
	api.Apply(t, published("b", "192.0.2.2"), ns)
	b.await(t, "b", "192.0.2.2")
	second.awaitReady(t, "leader: this process, ")
	if diff := gocmp.Diff([]string{"a A", "a-a TXT", "a-b TXT", "b A"}, b.names(t)); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
	if err := api.Client.CoreV1().Services(ns).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, "a")
	second.stop(t)
	api.wantReleased(t, ns, "signpost-dns")
	if diff := gocmp.Diff([]string{"a-b TXT", "b A"}, b.names(t)); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
}

// When the leader dies without releasing its Lease, another process takes over after the
// Lease has expired.
func (api roleServer) testDNSLeaderDies(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "")
	args := append(b.args(api, ns), "--leader-elect", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=200ms")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"--metrics-address=127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "SIGNPOST_TEST_AS_COMMAND=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	api.Apply(t, published("a", "192.0.2.1"), ns)
	b.await(t, "a", "192.0.2.1")
	second := serveConfig(t, dnsConfig(t, args...))
	second.awaitReady(t, "ok\nleader: ")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	api.Apply(t, published("a", "192.0.2.7")+"---"+published("b", "192.0.2.2"), ns)
	b.await(t, "a", "192.0.2.7")
	b.await(t, "b", "192.0.2.2")
	second.stop(t)
	if diff := gocmp.Diff([]string{"a A", "a-a TXT", "a-b TXT", "b A"}, b.names(t)); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
}

// planOf returns the options of a plan with these flags.
func planOf(t *testing.T, args ...string) preview.Options {
	return preview.Options{Config: dnsFlags(t, args...).Config, Limit: time.Minute, Log: slog.New(slog.DiscardHandler)}
}

// Deletions that `signpost plan` shows as held can be approved for `signpost dns` by their
// hash. Its dry run has the same hash.
func (api roleServer) testDNSApproval(t *testing.T) {
	ns := api.Namespace(t)
	marker := func(label string) string {
		return fmt.Sprintf("%s A 192.0.2.9\na-%[1]s TXT \"heritage=external-dns,external-dns/owner=%s,external-dns/resource=service/x/%[1]s\"\n", label, ns)
	}
	b := startBIND(t, marker("old")+marker("older"))
	api.Apply(t, published("a", "192.0.2.1")+"---"+endpointB, ns)
	args := append(b.args(api, ns), "--source=crd", "--max-deletions=1", "--max-deletions-percent=0")
	p, err := preview.Make(t.Context(), planOf(t, args...))
	if err != nil || !p.Differs || len(p.Zones) != 1 || p.Zones[0].Held == nil || len(p.Zones[0].Changes) != 2 {
		t.Fatalf("plan %+v, %v", p, err)
	}
	hash := p.Zones[0].Held.Hash
	_, err = publishOnce(t.Context(), dnsConfig(t, append([]string{"--dry-run"}, args...)...), time.Minute, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "--approve-plan="+hash) {
		t.Fatalf("plan has %s, the dry run says %v", hash, err)
	}
	if diff := gocmp.Diff([]string{"a-old TXT", "a-older TXT", "old A", "older A"}, b.names(t)); diff != "" {
		t.Fatalf("something was changed in a dry run (-want +got):\n%s", diff)
	}
	api.wantObserved(t, ns, 0)
	if _, err := publishOnce(t.Context(), dnsConfig(t, append([]string{"--approve-plan=" + hash}, args...)...), time.Minute, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if diff := gocmp.Diff([]string{"a A", "a-a TXT", "a-b TXT", "b A"}, b.names(t)); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
	api.wantObserved(t, ns, 1)
	// The Events of a process that has ended were sent.
	api.awaitEvent(t, ns, "RecordReady")
	if p, err := preview.Make(t.Context(), planOf(t, args...)); err != nil || p.Differs || len(p.Errors) > 0 {
		t.Errorf("something is left to change: %+v, %v", p, err)
	}
}

// Deletions are approved in the running process without a restart, and the next process knows the
// spent budget (D24).
func (api roleServer) testDNSApprovalRunning(t *testing.T) {
	ns := api.Namespace(t)
	t.Setenv("POD_NAMESPACE", ns)
	b := startBIND(t, "")
	args := append(b.args(api, ns), "--source=crd", "--max-deletions=1", "--max-deletions-percent=0")
	s := serveConfigWith(t, dnsConfig(t, args...), slog.New(slog.DiscardHandler))
	for _, name := range []string{"a", "c", "d"} {
		api.Apply(t, published(name, "192.0.2.1"), ns)
	}
	for _, name := range []string{"a", "c", "d"} {
		b.await(t, name, "192.0.2.1")
	}
	remove := func(name string) {
		t.Helper()
		if err := api.Client.CoreV1().Services(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove("a")
	b.await(t, "a")
	remove("c")
	addr := strings.TrimPrefix(s.admin, "http://")
	hash := ""
	kubetest.Eventually(t, 20*time.Second, func() error {
		var list inspect.PlanList
		response, err := http.Get("http://" + addr + inspect.PlanPath)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			return err
		}
		if len(list.Plans) != 1 || list.Plans[0].Deletions != 1 {
			return fmt.Errorf("held are %+v", list)
		}
		hash = list.Plans[0].Hash
		return nil
	})
	kubetest.Eventually(t, 20*time.Second, func() error { // stored a moment after it was shown
		maps, err := api.Client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		if err == nil && !strings.Contains(fmt.Sprint(maps.Items), hash) {
			err = fmt.Errorf("no ConfigMap of %d has the plan %s", len(maps.Items), hash)
		}
		return err
	})
	// Another one joins. The next process knows the plan, and that one record was deleted.
	remove("d")
	s.stop(t)
	s = serveConfigWith(t, dnsConfig(t, args...), slog.New(slog.DiscardHandler))
	addr = strings.TrimPrefix(s.admin, "http://")
	var out strings.Builder
	kubetest.Eventually(t, 30*time.Second, func() error {
		found, err := portforward.Find(t.Context(), portforward.Target{Addr: addr})
		if err != nil {
			return err
		}
		defer found.Close()
		a, err := inspectclient.New(found, 10*time.Second, io.Discard).Approve(t.Context(), hash, "", nil)
		out.WriteString(a.Text)
		return err
	})
	if !strings.Contains(out.String(), "deletions 1, updates 0") {
		t.Errorf("approved: %s", &out)
	}
	b.await(t, "c")
	b.await(t, "d", "192.0.2.1")
	s.stop(t)
}

// wantObserved checks the observedGeneration in the status of the DNSEndpoint named records.
func (api roleServer) wantObserved(t *testing.T, namespace string, want int64) {
	t.Helper()
	objects := api.Dynamic.Resource(externaldns.SchemeGroupVersion.WithResource("dnsendpoints")).Namespace(namespace)
	object, err := objects.Get(t.Context(), "records", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if err != nil || got != want {
		t.Errorf("generation %d was observed (%v), want %d", got, err, want)
	}
}

// awaitCondition waits for a condition of a DNSEndpoint, as `kubectl wait` does, and returns the
// version of the object.
func (api roleServer) awaitCondition(t *testing.T, namespace, name, conditionType, want string) (version string) {
	t.Helper()
	objects := api.Dynamic.Resource(externaldns.SchemeGroupVersion.WithResource("dnsendpoints")).Namespace(namespace)
	kubetest.Eventually(t, 30*time.Second, func() error {
		object, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		version = object.GetResourceVersion()
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			c := c.(map[string]any)
			if c["type"] == conditionType && fmt.Sprint(c["status"], " ", c["reason"]) == want && c["observedGeneration"] == object.GetGeneration() {
				return nil
			}
		}
		return fmt.Errorf("the conditions of %s are %v, want %s %s", name, conditions, conditionType, want)
	})
	return version
}

// B16: the status of a DNSEndpoint says whether its records are accepted, and published.
func (api roleServer) testDNSConditions(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "taken A 192.0.2.9\n")
	endpoint := func(name, fields string) string {
		return fmt.Sprintf("{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: %s}, spec: {endpoints: [{%s}]}}", name, fields)
	}
	s := serveConfig(t, dnsConfig(t, append(b.args(api, ns), "--source=crd")...))
	for name, test := range map[string]struct{ fields, accepted, programmed string }{
		"good":  {"dnsName: good.example.test, recordType: A, targets: [192.0.2.1]", "True Accepted", "True Programmed"},
		"taken": {"dnsName: taken.example.test, recordType: A, targets: [192.0.2.1]", "True Accepted", "False Conflict"},
		"far":   {"dnsName: far.elsewhere.test, recordType: A, targets: [192.0.2.1]", "True Accepted", "False NoZone"},
		"bad":   {"dnsName: bad.example.test, recordType: A, targets: [not-an-address]", "False Invalid", "False Invalid"},
		"mail":  {"dnsName: mail.example.test, recordType: MX, targets: [10 a.example.test]", "False Filtered", "False Filtered"},
	} {
		api.Apply(t, endpoint(name, test.fields), ns)
		api.awaitCondition(t, ns, name, "Accepted", test.accepted)
		api.awaitCondition(t, ns, name, "Programmed", test.programmed)
	}
	b.await(t, "good", "192.0.2.1")
	// A correct status isn't written again after changes of other objects.
	version := api.awaitCondition(t, ns, "good", "Programmed", "True Programmed")
	api.Apply(t, endpoint("taken", "dnsName: free.example.test, recordType: A, targets: [192.0.2.1]"), ns)
	api.awaitCondition(t, ns, "taken", "Programmed", "True Programmed")
	s.stop(t)
	s = serveConfig(t, dnsConfig(t, append(b.args(api, ns), "--source=crd")...))
	api.Apply(t, endpoint("taken", "dnsName: freed.example.test, recordType: A, targets: [192.0.2.1]"), ns)
	api.awaitCondition(t, ns, "taken", "Programmed", "True Programmed")
	s.stop(t)
	if now := api.awaitCondition(t, ns, "good", "Programmed", "True Programmed"); now != version {
		t.Errorf("the status of an object that is as it was was written again: version %s, was %s", now, version)
	}
}

// The records, the zones and the explanation of a name can be queried over HTTP.
func (api roleServer) testDNSInspection(t *testing.T) {
	ns := api.Namespace(t)
	b := startBIND(t, "other A 192.0.2.9\n")
	s := serveConfig(t, dnsConfig(t, b.args(api, ns)...))
	api.Apply(t, published("shop", "192.0.2.1"), ns)
	b.await(t, "shop", "192.0.2.1")
	get := func(path string, into any) {
		t.Helper()
		kubetest.Eventually(t, 20*time.Second, func() error {
			code, body := s.fetch(t, path)
			if code != http.StatusOK {
				return fmt.Errorf("%s: %d %s", path, code, body)
			}
			return json.Unmarshal([]byte(body), into)
		})
	}
	var list inspect.RecordList
	get(inspect.RecordsPath+"?object=svc/"+ns+"/shop", &list)
	if list.Total != 1 || len(list.Records) != 1 || list.Records[0].Name != "shop.example.test" || list.Records[0].State != inspect.RecordPublished || list.Records[0].Objects[0].Kind != "Service" {
		t.Errorf("records: %+v", list)
	}
	get(inspect.RecordsPath+"?state=foreign&search=other&zone=example.test", &list)
	if list.Total != 1 || list.Records[0].Name != "other.example.test" {
		t.Errorf("foreign records: %+v", list)
	}
	var zones inspect.ZoneList
	get(inspect.ZonesPath, &zones)
	if len(zones.Zones) != 1 || zones.Zones[0].Name != "example.test" || zones.Zones[0].Records[inspect.RecordPublished] != 1 || zones.Zones[0].Read == nil {
		t.Errorf("zones: %+v", zones)
	}
	var e inspect.Explanation
	get(inspect.ExplainPath+"?q=shop.example.test", &e)
	if e.Verdict != inspect.VerdictOK || !strings.Contains(e.Summary, "it answers as published") {
		t.Errorf("explanation: %+v", e)
	}
	s.stop(t)
}

// bindRole lets the user of a kubeconfig do in a namespace what deploy/rbac/dns.yaml has.
const bindRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: publisher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: signpost-dns}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`

// A process that may read some namespaces only publishes the objects of these, each publisher those
// of its own. A forbidden namespace is named, and in other namespaces only deletions wait.
func (api roleServer) testDNSNamespaces(t *testing.T) {
	first, second, third := api.Namespace(t), api.Namespace(t), api.Namespace(t)
	b := startBIND(t, "")
	kubeconfig := api.kubeconfigOf(t, first, "dns")
	bind := func(namespace string) {
		api.Apply(t, strings.ReplaceAll(bindRole, "USER", "user-of-"+first), namespace)
	}
	bind(first)
	bind(second)
	config := func(owner string, namespaces ...string) settings.Config {
		args := slices.DeleteFunc(b.args(api, owner), func(arg string) bool { return strings.HasPrefix(arg, "--namespace=") })
		// There is no store of the budget, so a second start would hold deletions.
		args = append(args, "--kubeconfig="+kubeconfig, "--service-type-filter=LoadBalancer", "--max-deletions-percent=100")
		for _, namespace := range namespaces {
			args = append(args, "--namespace="+namespace)
		}
		c := dnsConfig(t, args...)
		c.DNS.Publishers[0].Name = owner
		return c
	}
	api.Apply(t, published("a", "192.0.2.1"), first)
	api.Apply(t, published("b", "192.0.2.2"), second)
	api.Apply(t, published("c", "192.0.2.3"), third)

	c := config("one", first)
	c.DNS.Publishers = append(c.DNS.Publishers, config("two", second).DNS.Publishers...)
	log := &logtest.Buffer{}
	s := serveConfigWith(t, c, slog.New(slog.NewTextHandler(log, nil)))
	s.awaitReady(t, "leader: this process, ")
	b.await(t, "a", "192.0.2.1")
	b.await(t, "b", "192.0.2.2")
	api.awaitEvent(t, second, "RecordReady")
	if err := api.Client.CoreV1().Services(second).Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await(t, "b")
	s.stop(t)
	for line := range strings.Lines(log.String()) {
		// Without the right to kube-system there is no instance.
		if strings.Contains(line, "forbidden") && !strings.Contains(line, "may not read the namespace kube-system") {
			t.Errorf("something is not allowed: %s", line)
		}
	}

	api.Apply(t, published("b", "192.0.2.2"), second)
	c = config("one", first)
	c.DNS.Publishers = append(c.DNS.Publishers, config("two", second, third).DNS.Publishers...)
	s = serveConfig(t, c)
	b.await(t, "b", "192.0.2.2")
	if code, body := s.fetch(t, "/ready"); code == 200 || !strings.Contains(body, "services in "+third+": waiting forbidden: grant list and watch on services to this process") || strings.Contains(body, "in "+first) {
		t.Errorf("/ready: %d, %s; want it to name %s", code, body, third)
	}
	// The publisher that doesn't need the third namespace deletes, the other one waits.
	for namespace, name := range map[string]string{first: "a", second: "b"} {
		if err := api.Client.CoreV1().Services(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	b.await(t, "a")
	b.await(t, "b", "192.0.2.2")
	bind(third)
	b.await(t, "b")
	b.await(t, "c", "192.0.2.3")
	s.awaitReady(t, "leader: this process, ")
	s.stop(t)
}
