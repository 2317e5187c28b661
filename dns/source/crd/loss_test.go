package crd_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const someEndpoints = `
{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: one}, spec: {endpoints: [{dnsName: one.shop.test, recordType: A, targets: [192.0.2.1]}]}}
---
{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: two}, spec: {endpoints: [{dnsName: two.shop.test, recordType: A, targets: [192.0.2.2]}]}}
`

// TestRecordsOutliveTheKind shows that records stay when somebody deletes the CustomResourceDefinition,
// although the API server deletes all DNSEndpoints with it (issue 5).
func TestRecordsOutliveTheKind(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../../deploy/crds"})
	namespace := api.Namespace(t)
	api.Apply(t, someEndpoints, namespace)
	zones := inmemory.New("shop.test")
	table := publish(t, api.Cluster, zones)
	addresses := func(want int) error {
		records, err := zones.Records(t.Context(), dns.Zone{ID: "shop.test", Name: "shop.test"})
		if err != nil {
			return err
		}
		got := 0
		for _, r := range records {
			if r.Type == dns.TypeA {
				got++
			}
		}
		if got != want {
			return fmt.Errorf("%d records, want %d", got, want)
		}
		return nil
	}
	kubetest.Eventually(t, 20*time.Second, func() error { return addresses(2) })
	client, err := dynamic.NewForConfig(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := client.Resource(definitions).Delete(t.Context(), "dnsendpoints.externaldns.k8s.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	kubetest.Eventually(t, 60*time.Second, func() error {
		if table.Len() > 0 {
			return fmt.Errorf("the table has %d objects", table.Len())
		}
		if s := table.Status(); s.State != kube.Waiting || s.Reason != kube.NotFound {
			return fmt.Errorf("the table is %s %s", s.State, s.Reason)
		}
		if err := addresses(2); err != nil {
			return err
		}
		// The time is longer than the deletion of records takes.
		if time.Since(begun) < 20*time.Second {
			return errors.New("too early to tell")
		}
		return nil
	})
}

// publish publishes all DNSEndpoints, and returns the table of them.
func publish(t *testing.T, api *kubetest.Cluster, zones provider.Provider) kube.AnyTable {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	options := configure.New()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.Flags(flags)
	if err := flags.Parse([]string{"--source=crd", "--provider=inmemory", "--policy=sync", "--deletion-delay=0s"}); err != nil {
		t.Fatal(err)
	}
	opened, err := options.Open(t.Context(), configure.Input{Log: log, Provider: zones})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.New(kube.Options{Config: api.Config, Logger: log}, opened.Tables...)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range append(opened.Background, cluster.Run, opened.Publisher.Run, opened.Publisher.Lead) {
		start(t, run)
	}
	return opened.Tables[0]
}
