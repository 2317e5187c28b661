package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/reachtest"
)

// running is a separate signpost process.
type running struct{ grpc, xds, admin string }

// startProcess runs a command of signpost until the test ends, and returns its addresses.
func startProcess(t *testing.T, args ...string) running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "SIGNPOST_TEST_AS_COMMAND=1")
	logged, write := io.Pipe()
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	serving := make(chan running, 1)
	var done sync.WaitGroup
	var log strings.Builder
	done.Go(func() {
		lines := bufio.NewScanner(logged)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			log.WriteString(line + "\n")
			if _, rest, ok := strings.Cut(line, "msg=Serving"); ok {
				serving <- running{grpc: field(rest, "grpc="), xds: field(rest, "xds="), admin: field(rest, "admin=")}
			}
		}
	})
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // the error says that it was interrupted
		_ = write.Close()
		done.Wait()
		if t.Failed() {
			t.Logf("log of %s ends in:\n%s", args[0], log.String()[max(0, log.Len()-2000):])
		}
	})
	select {
	case r := <-serving:
		return r
	case <-time.After(time.Minute):
		t.Fatalf("%q doesn't serve", args)
		return running{}
	}
}

func field(line, name string) string {
	_, rest, _ := strings.Cut(line, name)
	value, _, _ := strings.Cut(rest, " ")
	return value
}

const shopManifests = `
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {external-dns.alpha.kubernetes.io/hostname: www.shop.invalid}}
spec: {type: LoadBalancer, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: far, annotations: {external-dns.alpha.kubernetes.io/hostname: far.other.invalid, external-dns.alpha.kubernetes.io/target: 192.0.2.9}}
spec: {type: LoadBalancer, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.42.0.7], conditions: {ready: true}}, {addresses: [10.42.0.8], conditions: {ready: true}}]
---
apiVersion: v1
kind: Service
metadata: {name: inside}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: inside-1, labels: {kubernetes.io/service-name: inside}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [{addresses: [10.42.0.9], conditions: {ready: true}}]
`

// TestCommandsAskAllReplicas shows that commands find two replicas as pods, through an API server that
// forwards ports, query both, and print one response.
func TestCommandsAskAllReplicas(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, shopManifests, namespace)
	setAddress(t, cluster, namespace, "web", "192.0.2.1")
	server := &reachtest.Server{Ports: map[string]string{}}
	var addrs []string
	for i, name := range []string{"signpost-0", "signpost-1"} {
		config := filepath.Join(t.TempDir(), "signpost.yaml")
		text := fmt.Sprintf(`{apiVersion: signpost.dev/v1alpha1, kind: Config, kubeconfig: %q, admin: {address: "127.0.0.1:0"},
  destination: {addr: "127.0.0.1:0", externalWorkloadWriter: false}, xds: {addr: "127.0.0.1:0"},
  dns: {leaderElection: {resourceNamespace: %q}, publishers: [{source: service, namespace: %[2]q, provider: inmemory, inmemory-zone: shop.invalid, policy: sync, registry: noop}]}}`, cluster.Kubeconfig, namespace)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := startProcess(t, "run", "--config", config)
		pod := reachtest.Pod("signpost", name, "run")
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		addrs = append(addrs, r.grpc)
		server.Pods = append(server.Pods, pod)
		server.Ports[fmt.Sprintf("signpost/signpost-%d:9996", i)] = r.admin
		server.Ports[fmt.Sprintf("signpost/signpost-%d:8086", i)] = r.grpc
		server.Ports[fmt.Sprintf("signpost/signpost-%d:8087", i)] = r.xds
	}
	kubeconfig := server.Start(t)
	signpost := func(args ...string) (int, string, string) {
		return runCommand(t.Context(), append(args, "--kubeconfig", kubeconfig)...)
	}
	eventually(t, "endpoints", func() error {
		code, out, errText := signpost("get", "svc/web:80", "-n", namespace)
		if code != 0 || !strings.Contains(out, "10.42.0.7:8080") || !strings.Contains(out, "10.42.0.8:8080") {
			return fmt.Errorf("status %d, %s%s", code, out, errText)
		}
		return nil
	})
	if code, out, errText := signpost("xds", "get", "web:80", "-n", namespace); code != 0 || !strings.Contains(out, "10.42.0.7:8080") || errText != "" {
		t.Errorf("xds get: %d, %s, %s", code, out, errText)
	}
	eventually(t, "a record that is published", func() error {
		code, out, errText := signpost("records", "-o", "jsonpath={.records[?(@.name=='www.shop.invalid')].state}")
		if code != 0 || strings.TrimSpace(out) != "published" {
			return fmt.Errorf("status %d, %q, %s", code, out, errText)
		}
		return nil
	})

	code, out, errText := signpost("status", "-o", "json")
	var status struct{ Processes []struct{ Process string } }
	if err := json.Unmarshal([]byte(out), &status); code != 0 || err != nil || len(status.Processes) != 2 || status.Processes[1].Process != "signpost-1" || errText != "" {
		t.Errorf("status: %d, %v, %s, %s", code, err, out, errText)
	}
	watchStreams(t, signpost, namespace, addrs...)
	code, out, errText = signpost("services", "-n", namespace, "-o", "custom-columns=NAME:.name,READY:.ready")
	if want := "NAME    READY\nfar     0\ninside  1\nweb     2\n"; code != 0 || out != want || errText != "" {
		t.Errorf("services: %d, %q, %s", code, out, errText)
	}
	code, out, _ = signpost("records", "shop.invalid", "-o", "zone")
	if want := "www.shop.invalid.\t0\tIN\tA\t192.0.2.1\n"; code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("records: %d, %q", code, out)
	}
	// The servers of a zone of the in-memory provider are unknown.
	for subject, want := range map[string]int{"svc/inside": 0, "svc/far": 1, "www.shop.invalid": exitUnknown, "far.other.invalid": 1} {
		code, out, errText := signpost("explain", subject, "-n", namespace)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); code != want || len(lines) < 4 || errText != "" {
			t.Errorf("explain %s: %d, want %d:\n%s\n%s", subject, code, want, out, errText)
		}
	}
	if code, out, errText := signpost("approve"); code != 0 || out != "Nothing is held.\n" || errText != "" {
		t.Errorf("approve: %d, %s, %s", code, out, errText)
	}
	if code, out, errText := signpost("problems", "-n", namespace); code != 0 || out == "" {
		t.Errorf("problems: %d, %s, %s", code, out, errText)
	}
	if code, out, errText := signpost("clusters"); code != 0 || out != "no cluster is linked\n" {
		t.Errorf("clusters: %d, %s, %s", code, out, errText)
	}
}

// watchStreams opens a stream to each replica, and checks that both are listed.
func watchStreams(t *testing.T, signpost func(...string) (int, string, string), namespace string, addrs ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	for _, addr := range addrs {
		watching.Go(func() {
			if code, _, errText := runCommand(ctx, "get", "web."+namespace+":80", "--watch", "--addr", addr); code != 0 {
				t.Errorf("get --watch: %d, %s", code, errText)
			}
		})
	}
	eventually(t, "a stream at each replica", func() error {
		code, out, errText := signpost("streams", "svc/web", "-n", namespace, "-o", "custom-columns=P:.process,S:.service,STATE:.state,E:.endpoints")
		// The rows are sorted by client, whose ports are random.
		rows := strings.Split(strings.TrimSpace(out), "\n")[1:]
		slices.Sort(rows)
		want := []string{"signpost-0  " + namespace + "/web  synced  2", "signpost-1  " + namespace + "/web  synced  2"}
		if code != 0 || !slices.Equal(rows, want) || errText != "" {
			return fmt.Errorf("status %d, %s%s", code, out, errText)
		}
		return nil
	})
}

func setAddress(t *testing.T, cluster *kubetest.Cluster, namespace, name, ip string) {
	t.Helper()
	services := cluster.Client.CoreV1().Services(namespace)
	service, err := services.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	if _, err := services.UpdateStatus(t.Context(), service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	kubetest.Eventually(t, 20*time.Second, func() error {
		if err := f(); err != nil {
			return errors.Join(errors.New(what), err)
		}
		return nil
	})
}
