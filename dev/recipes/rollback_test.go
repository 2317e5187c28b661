//go:build rollback

package recipes

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// older is the directory with the program of an earlier commit, which dev/rollback.sh builds.
var older = flag.String("rollback.older", "", "directory with signpost of an earlier commit")

// TestRollback shows that an update and its rollback lose nothing: each program reads the ownership records
// and the budget store of the other one. Counted and held deletions stay so.
func TestRollback(t *testing.T) {
	newer, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{*older, newer} {
		if _, err := os.Stat(filepath.Join(dir, "signpost")); err != nil {
			t.Fatalf("%v: run make rollback", err)
		}
	}
	for name, order := range map[string][]string{
		"update, rollback, update":   {*older, newer, *older, newer},
		"rollback, update, rollback": {newer, *older, newer, *older},
	} {
		t.Run(name, func(t *testing.T) { swapped(t, order) })
	}
}

// swapped lets programs replace each other for one zone and one budget store.
func swapped(t *testing.T, order []string) {
	cluster := kubetest.StartOwn(t, kubetest.Options{}).Cluster
	zone := startZone(t)
	cluster.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", "")
	want := map[string]string{}
	publish := func(service, address string) {
		t.Helper()
		cluster.Apply(t, named(service, service+".example.test", address), "shop")
		want[service+".example.test."] = address
	}
	withdraw := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			cluster.Apply(t, named(fmt.Sprint("n", i), "", "192.0.2.1"), "shop")
		}
	}
	for i := range 30 {
		publish(fmt.Sprint("n", i), "192.0.2.1")
	}
	for turn, program := range order {
		p := startPublisher(t, program, cluster.Kubeconfig, zone)
		if turn == 0 {
			zone.awaitAddresses(t, want)
			withdraw(0, 10) // the maximum in ten minutes
			for i := range 10 {
				delete(want, fmt.Sprintf("n%d.example.test.", i))
			}
			zone.awaitAddresses(t, want)
			withdraw(10, 15) // held by all programs
		}
		publish(fmt.Sprint("new", turn), "192.0.2.2")
		publish(fmt.Sprint("n", 20+turn), "192.0.2.3")
		zone.awaitAddresses(t, want)
		p.Stop(20 * time.Second)
		zone.wantOwned(t, want)
	}
}

func startPublisher(t *testing.T, dir, kubeconfig string, z zone) *programtest.Program {
	t.Helper()
	admin := kubetest.Address(t)
	p := start(t, dir, "signpost", admin, []string{"POD_NAME=signpost-0", "POD_NAMESPACE=default"},
		"dns", "--kubeconfig="+kubeconfig, "--source=service", "--provider=rfc2136", "--rfc2136-host="+z.Addr.Addr().String(),
		"--rfc2136-port="+strconv.Itoa(int(z.Addr.Port())), "--rfc2136-zone=example.test", "--rfc2136-axfr", "--rfc2136-tsig-keyname=k",
		"--rfc2136-tsig-secret="+secret, "--rfc2136-tsig-secret-alg=hmac-sha256", "--policy=sync", "--txt-owner-id=mine",
		"--leader-elect", "--leader-elect-resource-namespace=default", "--metrics-address="+admin)
	p.AwaitReady(t)
	return p
}

// addresses returns the A records of Signpost.
func (z zone) addresses() (map[string]string, error) {
	records, err := z.records()
	found := map[string]string{}
	for _, r := range records {
		fields := strings.Fields(r)
		if fields[1] == "A" && strings.HasPrefix(fields[0], "n") && !strings.HasPrefix(fields[0], "ns.") {
			found[fields[0]] = fields[2]
		}
	}
	return found, err
}

// awaitAddresses waits until the zone has exactly these names.
func (z zone) awaitAddresses(t *testing.T, want map[string]string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error {
		found, err := z.addresses()
		if err == nil && !maps.Equal(found, want) {
			return fmt.Errorf("the zone has\n%v\nwant\n%v", found, want)
		}
		return err
	})
}

// wantOwned fails the test unless the zone, after the end of a program, has exactly these names, each with an
// ownership record.
func (z zone) wantOwned(t *testing.T, want map[string]string) {
	t.Helper()
	found, err := z.addresses()
	if err != nil || !maps.Equal(found, want) {
		t.Errorf("the zone has\n%v\nwant\n%v (%v)", found, want, err)
	}
	records := z.transfer(t)
	for name := range want {
		owned := func(r string) bool {
			return strings.HasPrefix(r, "a-"+name+" TXT ") && strings.Contains(r, "external-dns/owner=mine")
		}
		if !slices.ContainsFunc(records, owned) {
			t.Errorf("%s has no ownership record; the zone is\n%s", name, strings.Join(records, "\n"))
		}
	}
}
