package process

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// heldBy waits until as many plans are held, and returns them by publisher.
func heldBy(t *testing.T, s served, plans int) map[string]inspect.Plan {
	t.Helper()
	held := map[string]inspect.Plan{}
	kubetest.Eventually(t, deliveryTimeout, func() error {
		var list inspect.PlanList
		response, err := http.Get("http://" + strings.TrimPrefix(s.admin, "http://") + inspect.PlanPath)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			return err
		}
		if len(list.Plans) != plans || len(list.Unplanned) > 0 {
			return fmt.Errorf("held are %+v", list)
		}
		for _, p := range list.Plans {
			held[p.Publisher] = p
		}
		return nil
	})
	return held
}

// Split-horizon: one process publishes one zone name on two BIND servers, under one owner ID (V6).
// Both publishers hold the deletion of one name: the hash names the plan, and the shown plan is the
// approved one (V1). Rows of one name have their publisher (V5), and a name may be queried (V8). A
// second installation with the same Lease and another publisher reports that nothing is published
// for it (V10).
func (api roleServer) testDNSSplitHorizon(t *testing.T) {
	ns := api.Namespace(t)
	t.Setenv("POD_NAMESPACE", ns)
	outside, inside := startBIND(t, ""), startBIND(t, "")
	args := func(b bind, more ...string) []string {
		return append(b.args(api, ns), append(more, "--leader-elect", "--max-deletions=0", "--max-deletions-percent=0")...)
	}
	config, private := dnsConfig(t, args(outside, "--annotation-filter=net=public")...), dnsConfig(t, args(inside, "--annotation-filter=net=private")...)
	config.DNS.Publishers[0].Name, private.DNS.Publishers[0].Name = "public", "private"
	config.DNS.Publishers = append(slices.Clone(config.DNS.Publishers), private.DNS.Publishers...)
	s := serveConfigWith(t, config, slog.New(slog.DiscardHandler))
	for net, address := range map[string]string{"public": "192.0.2.1", "private": "10.1.1.1"} {
		api.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: web-%s, annotations: {net: %[1]s, external-dns.kubernetes.io/hostname: web.example.test}}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: %s}]}}
`, net, address), ns)
	}
	outside.await(t, "web", "192.0.2.1")
	inside.await(t, "web", "10.1.1.1")

	found, err := portforward.Find(t.Context(), portforward.Target{Addr: strings.TrimPrefix(s.admin, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	c := inspectclient.New(found, 10*time.Second, io.Discard)
	a, records, err := c.Records(t.Context(), inspectclient.RecordFilter{Zone: "web.example.test"})
	if err != nil || len(a.Names) < 2 || len(slices.Compact(slices.Sorted(slices.Values(a.Names)))) != len(a.Names) {
		t.Errorf("records of one name: %v, %q", err, a.Names)
	}
	if err := inspectclient.OneZone(records); err == nil || !strings.Contains(err.Error(), "--publisher") {
		t.Errorf("a master file of two zones: %v", err)
	}

	for _, net := range []string{"public", "private"} {
		if err := api.Client.CoreV1().Services(ns).Delete(t.Context(), "web-"+net, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	held := heldBy(t, s, 2)
	if held["public"].Hash == held["private"].Hash {
		t.Fatalf("both plans have the hash %s", held["public"].Hash)
	}
	shown, err := c.Plan(t.Context(), held["public"].Hash, "")
	if err != nil || !strings.Contains(fmt.Sprint(shown.Table.Rows), "192.0.2.1") || strings.Contains(fmt.Sprint(shown.Table.Rows), "10.1.1.1") {
		t.Fatalf("shown: %v, %v", err, shown.Table.Rows)
	}
	if _, err := c.Approve(t.Context(), held["public"].Hash, "", nil); err != nil {
		t.Fatal(err)
	}
	outside.await(t, "web")
	if got := heldBy(t, s, 1); got["private"].Hash != held["private"].Hash {
		t.Errorf("held is %+v", got)
	}
	inside.await(t, "web", "10.1.1.1")

	other := dnsConfig(t, args(inside)...)
	other.DNS.Publishers[0].Name = "team"
	standby := serveConfigWith(t, other, slog.New(slog.DiscardHandler))
	standby.awaitReady(t, "nothing is published for the publishers team: ")
	standby.wantMetrics(t, "signpost_dns_publishers_unled 1")
	s.wantMetrics(t, "signpost_dns_publishers_unled 0")
	standby.stop(t)
	s.stop(t)
}
