package kube

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/lab/etcdctl"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// restoredWithin is how soon after the API server is back all kinds have to be what it has.
const restoredWithin = 10 * time.Second

// day2 B1: after a restore of etcd, objects that were gone were served for ever, and new ones never.
func TestRestoredEtcd(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{RestartDelay: 2 * time.Second, CRDs: "../deploy/crds"})
	namespace := api.Namespace(t)
	r := newRecorder()
	var log childprocess.Log
	var mu sync.Mutex
	var rewinds []Rewind
	tables := CatalogTables(r, FromEndpointSlices)
	c, err := New(Options{
		Config: api.Config, Registerer: r.registry, Report: r.report, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Rewound: func(rewind Rewind) {
			mu.Lock()
			defer mu.Unlock()
			rewinds = append(rewinds, rewind)
		},
	}, tables...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		t.Log(log.String())
	})
	settle(t, c)
	createService(t, api.Cluster, namespace, "before")

	// serves waits until the API server is back, and then for the Services.
	serves := func(step string, want ...string) {
		t.Helper()
		kubetest.Eventually(t, 2*time.Minute, func() error {
			_, err := api.Client.CoreV1().Services(namespace).List(t.Context(), metav1.ListOptions{})
			return err
		})
		back := time.Now()
		kubetest.Eventually(t, restoredWithin, func() error {
			if err := differ(want, r.names(namespace)); err != nil {
				return err
			}
			for _, s := range c.Status() {
				if s.Required && (s.State != Synced || s.Stale != 0) {
					return fmt.Errorf("%s is %s (%s)", s.Kind, s.State, s.Detail)
				}
			}
			return nil
		})
		t.Logf("%s: the tables were right %v after the API server", step, time.Since(back))
	}
	rewound := func(want float64) {
		t.Helper()
		if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); n != want {
			t.Errorf("%v rewinds, want %v", n, want)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(rewinds) != int(want) {
			t.Errorf("told of %+v", rewinds)
		}
		if n := strings.Count(log.String(), "went back, as after a restore"); n != int(want) {
			t.Errorf("%d lines in the log", n)
		}
	}

	copied := api.CopyEtcd()
	writes := func() {
		t.Helper()
		for i := range 70 {
			createService(t, api.Cluster, namespace, fmt.Sprint("lost-", i))
		}
		kubetest.Eventually(t, 30*time.Second, func() error {
			if n := len(r.names(namespace)); n != 71 {
				return fmt.Errorf("%d Services", n)
			}
			return nil
		})
	}
	writes()
	rewound(0)

	api.RestoreEtcd(copied, nil)
	serves("restored", "1/before")
	rewound(1)
	createService(t, api.Cluster, namespace, "after")
	serves("then", "1/after", "1/before")

	for i := range 69 {
		createService(t, api.Cluster, namespace, fmt.Sprint("lost-", i))
	}
	reached := revisionOf(t, api)
	api.RestoreEtcd(copied, func(dir string) {
		url, err := etcdctl.URL(dir)
		if err == nil {
			err = etcdctl.Bump(t.Context(), url, reached)
		}
		if err != nil {
			t.Error(err)
		}
	})
	serves("restored with a bumped revision", "1/before")
	rewound(1)
	createService(t, api.Cluster, namespace, "after")
	serves("then", "1/after", "1/before")

	api.RestoreEtcd("", nil)
	kubetest.Eventually(t, 2*time.Minute, func() error {
		return api.Client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error()
	})
	api.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}", "")
	createService(t, api.Cluster, namespace, "new")
	serves("emptied", "1/new")
	rewound(2)
}

// revisionOf returns what the etcd of a cluster is at.
func revisionOf(t *testing.T, api *kubetest.OwnCluster) int64 {
	t.Helper()
	url, err := etcdctl.URL(filepath.Dir(api.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	revision, err := etcdctl.Revision(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}
