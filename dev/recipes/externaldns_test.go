package recipes

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

const secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

// leftByExternalDNS are records with their ownership records, and an unmanaged one.
const leftByExternalDNS = `
www A 192.0.2.10
a-www TXT "heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/web"
api A 192.0.2.11
a-api TXT "heritage=external-dns,external-dns/owner=prod,external-dns/resource=service/shop/api"
mail A 192.0.2.99
`

// TestExternalDNS replaces the image of ExternalDNS' Deployment by ours and rolls back. No record is lost
// meanwhile.
func TestExternalDNS(t *testing.T) {
	bin := programs(t)
	cluster := kubetest.StartOwn(t, kubetest.Options{}).Cluster
	zone := startZone(t)
	port := strconv.Itoa(int(zone.Addr.Port()))
	apply(t, cluster, "external-dns.yaml", "PORT", port)
	apply(t, cluster, "shop.yaml")
	page := blocks(t, "migrate-external-dns.md")
	sh := newShell(t, bin, cluster.Kubeconfig, "EXTERNAL_DNS_RFC2136_TSIG_SECRET="+secret)
	before := zone.transfer(t)
	looker := zone.lookOn(t, "www.example.test. A", "a-www.example.test. TXT", "api.example.test. A", "a-api.example.test. TXT", "mail.example.test. A")

	// Side by side.
	if out := sh.run(t, page["flags"]+page["plan"]); !strings.Contains(out, "Nothing to change") {
		t.Errorf("the plan isn't empty:\n%s", out)
	}
	if out := sh.run(t, page["flags"]+page["check"]); !strings.Contains(out, "events") || !strings.Contains(out, "configmaps") {
		t.Errorf("the check doesn't name the rights that ExternalDNS's role lacks:\n%s", out)
	}
	sh.run(t, page["flags"]+page["rights"])
	wantImage(t, page["values"], page["swap"])
	pod := containerOf(t, cluster, "external-dns", "external-dns", "external-dns")

	// The swap.
	sh.run(t, page["swap"])
	swapped := containerOf(t, cluster, "external-dns", "external-dns", "external-dns")
	if !slices.Equal(pod.Args, swapped.Args) || !strings.HasSuffix(swapped.Image, "-external-dns") {
		t.Errorf("the container has the image %s and the arguments %v", swapped.Image, swapped.Args)
	}
	env := []string{
		"KUBECONFIG=" + cluster.KubeconfigOf(t, "external-dns", "external-dns"), "EXTERNAL_DNS_RFC2136_TSIG_SECRET=" + secret,
		"POD_NAME=external-dns-0", "POD_NAMESPACE=external-dns",
	}
	run := func() *programtest.Program {
		admin := kubetest.Address(t)
		// The address is the only argument that a pod doesn't need.
		p := start(t, bin, "external-dns", admin, env, append(slices.Clone(swapped.Args), "--metrics-address="+admin)...)
		p.AwaitReady(t)
		return p
	}
	p := run()
	cluster.Apply(t, named("new", "new.example.test", "192.0.2.12"), "shop")
	zone.await(t, "new.example.test. A", "192.0.2.12")
	zone.await(t, "a-new.example.test. TXT", "external-dns/owner=prod,external-dns/resource=service/shop/new")
	p.Stop(20 * time.Second)
	wantAllowed(t, p)

	// Rollback: for ExternalDNS only the new name differs, and after another start nothing.
	cluster.Apply(t, named("new", "", "192.0.2.12"), "shop")
	p = run()
	zone.await(t, "new.example.test. A", "")
	p.Stop(20 * time.Second)
	if after := zone.transfer(t); !slices.Equal(before, after) {
		t.Errorf("the zone was\n%s\nand is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	sh.run(t, page["flags"]+page["plan"])
	sh.run(t, page["flags"]+page["cleanup"])
	looks, lost := looker()
	t.Logf("ExternalDNS: the zone was transferred %d times during the swap; records lost: %d", looks, lost)
	if looks < 20 || lost > 0 {
		t.Errorf("looked %d times, lost %d", looks, lost)
	}
}

// wantImage fails the test unless both methods name the image with the entrypoint external-dns.
func wantImage(t *testing.T, values, swap string) {
	t.Helper()
	var v struct {
		Image struct{ Repository, Tag string }
	}
	if err := yaml.UnmarshalStrict([]byte(values), &v); err != nil {
		t.Fatal(err)
	}
	image := v.Image.Repository + ":" + v.Image.Tag
	if !strings.HasSuffix(strings.TrimSpace(swap), "external-dns="+image) {
		t.Errorf("the values name the image %s, the command another one:\n%s", image, swap)
	}
	made, err := os.ReadFile("../image/image.go")
	if err != nil {
		t.Fatal(err)
	}
	if suffix := "-external-dns"; !strings.HasSuffix(v.Image.Tag, suffix) || !strings.Contains(string(made), `{"/usr/bin/external-dns", "`+suffix+`"}`) {
		t.Errorf("%s isn't the image that dev/image makes", image)
	}
}

// named returns a Service, with or without a DNS name.
func named(service, host, address string) string {
	annotations := ""
	if host != "" {
		annotations = ", annotations: {external-dns.alpha.kubernetes.io/hostname: " + host + "}"
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s%s}
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: %s}]}}
`, service, annotations, address)
}

// apply applies a file of testdata after replacing words.
func apply(t *testing.T, cluster *kubetest.Cluster, file string, words ...string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, strings.NewReplacer(words...).Replace(string(text)), "default")
}

// containerOf returns a container of a Deployment.
func containerOf(t *testing.T, cluster *kubetest.Cluster, namespace, deployment, container string) corev1.Container {
	t.Helper()
	d, err := cluster.Client.AppsV1().Deployments(namespace).Get(t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == container {
			return c
		}
	}
	t.Fatalf("the Deployment %s has no container %s", deployment, container)
	return corev1.Container{}
}

var zoneKey = bindtest.Key{Name: "k", Algorithm: "hmac-sha256", Secret: secret}

// zone is the zone example.test of a BIND.
type zone struct{ *bindtest.Server }

func startZone(t *testing.T) zone {
	t.Helper()
	return zone{bindtest.Serve(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: "example.test", Key: "k", Records: leftByExternalDNS}},
		Keys:  []bindtest.Key{zoneKey},
	})}
}

// records returns the records of the zone without the SOA, sorted, each as "name TYPE data".
func (z zone) records() ([]string, error) {
	all, err := z.Transfer("example.test", zoneKey)
	var records []string
	for _, rr := range all {
		if h := rr.Header(); h.Rrtype != mdns.TypeSOA {
			records = append(records, h.Name+" "+mdns.TypeToString[h.Rrtype]+" "+strings.TrimPrefix(rr.String(), h.String()))
		}
	}
	slices.Sort(records)
	return records, err
}

func (z zone) transfer(t *testing.T) []string {
	t.Helper()
	records, err := z.records()
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// await waits until a record set has a value with these words or, without words, is gone.
func (z zone) await(t *testing.T, set, words string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		records, err := z.records()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(records, func(r string) bool { return strings.HasPrefix(r, set+" ") })
		if words == "" && i >= 0 || words != "" && (i < 0 || !strings.Contains(records[i], words)) {
			return fmt.Errorf("%s should be %q; the zone is\n%s", set, words, strings.Join(records, "\n"))
		}
		return nil
	})
}

// lookOn transfers the zone all the time. The returned function stops that, and returns the number of
// transfers and of missing record sets.
func (z zone) lookOn(t *testing.T, sets ...string) func() (looks, lost int) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	var looks, lost int
	wg.Go(func() {
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			records, err := z.records()
			if err != nil {
				continue // the server is busy; only successful transfers count
			}
			looks++
			for _, set := range sets {
				if !slices.ContainsFunc(records, func(r string) bool { return strings.HasPrefix(r, set+" ") }) {
					lost++
				}
			}
		}
	})
	stop := sync.OnceFunc(func() { close(done); wg.Wait() })
	t.Cleanup(stop)
	return func() (int, int) {
		stop()
		return looks, lost
	}
}
