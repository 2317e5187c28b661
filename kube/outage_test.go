package kube

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

var outage = kubetest.NewOutage("kube.outage")

func TestClusterSurvivesAnOutage(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{RestartDelay: outage.Length()})
	namespace := api.Namespace(t)
	r := newRecorder()
	c := run(t, api.Config, r, CatalogTables(r, FromEndpointSlices)...)
	settle(t, c)
	api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: before}, spec: {ports: [{port: 80}]}}", namespace)
	kubetest.Eventually(t, 30*time.Second, func() error { return differ([]string{"1/before"}, r.names(namespace)) })
	stale := func() float64 { return gauge(t, r, "kube_table_stale_seconds", "cluster=local", "kind=service") }
	if s := stale(); s != 0 {
		t.Errorf("the table is stale for %v s while all is well", s)
	}

	api.Kill(kubetest.APIServer)
	await(t, c, "service", Waiting, Unreachable)
	kubetest.Eventually(t, outage.Length(), func() error {
		if s := stale(); s < 1 {
			return fmt.Errorf("stale for %v s", s)
		}
		return nil
	})
	if err := differ([]string{"1/before"}, r.names(namespace)); err != nil {
		t.Errorf("during the outage: %v", err)
	}
	after := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "after"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	kubetest.Eventually(t, outage.Length()+30*time.Second, func() error {
		_, err := api.Client.CoreV1().Services(namespace).Create(t.Context(), after, metav1.CreateOptions{})
		return err
	})
	back := time.Now()
	kubetest.Eventually(t, outage.BackWithin(), func() error { return differ([]string{"1/after", "1/before"}, r.names(namespace)) })
	t.Logf("the change arrived %v after it could be made", time.Since(back))
	kubetest.Eventually(t, outage.BackWithin(), func() error {
		for _, s := range c.Status() {
			if s.State != Synced && s.Required {
				return fmt.Errorf("%s is %s (%s)", s.Kind, s.State, s.Detail)
			}
		}
		if s := stale(); s != 0 {
			return fmt.Errorf("stale for %v s", s)
		}
		return nil
	})
	t.Logf("all tables were in sync %v after it", time.Since(back))
}

func TestClusterNoticesAFrozenServer(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	api := kubetest.StartOwn(t, kubetest.Options{})
	r := newRecorder()
	c := run(t, api.Config, r, Services().Table())
	settle(t, c)
	api.Stop(kubetest.APIServer)
	stopped := time.Now()
	// B6: the time until it was noticed didn't count.
	kubetest.Eventually(t, 30*time.Second, func() error {
		s, since := status(c, "service"), time.Since(stopped)
		switch {
		case s.Stale == 0:
			return fmt.Errorf("not noticed: %+v", s)
		case s.Stale < since-100*time.Millisecond || s.Stale > since+5*time.Second:
			return fmt.Errorf("stale for %v, %v after the server has stopped", s.Stale, since)
		}
		return nil
	})
	api.Continue(kubetest.APIServer)
	kubetest.Eventually(t, outage.BackWithin(), func() error {
		if s := status(c, "service"); s.State != Synced || s.Stale != 0 {
			return fmt.Errorf("not recovered: %+v", s)
		}
		return nil
	})
}
