package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
	"github.com/signpostd/signpost/testkit/certtest"
	"github.com/signpostd/signpost/xds/auth"
)

// settings returns the scenes about settings of clients and servers: bootstrap files, TLS,
// authorities and idle channels. gRPC clients play them, and most of the scenes start clients of
// their own.
func settings() []scene {
	return []scene{
		{"authority", nil, authorities},
		{"idle", nil, idle},
		{"dual-stack", nil, dualStack},
		{"peer", nil, peer},
		{"drop-in", nil, dropIn},
		{"deleted", nil, deleted},
		{"same-zone", nil, sameZone},
		{"unsynced", nil, unsynced},
		{"token", nil, token},
		{"tls", nil, serverTLS},
		{"mtls", nil, clientTLS},
		{"endpoint-tls", nil, endpointTLS},
	}
}

// The addresses of a replica that a scene starts for itself.
const (
	extraPort  = 8090
	extraAdmin = "127.0.0.1:19990"
)

// startExtra starts a replica with flags of its own, beside those that all scenes use. The returned
// function ends it.
func (st *stage) startExtra(kubeconfig string, flags ...string) (end func(), err error) {
	st.started++
	p, err := st.Launch(fmt.Sprintf("signpost-%d", st.started), exec.Command("bin/signpost", append([]string{
		"xds",
		"--kubeconfig", kubeconfig, "--xds-addr", fmt.Sprintf(":%d", extraPort), "--metrics-addr", extraAdmin,
	}, flags...)...))
	if err != nil {
		return nil, err
	}
	return func() { st.End(p, clienttest.StopWithin) }, nil
}

// startReady is startExtra, and waits until the replica is ready.
func (st *stage) startReady(ctx context.Context, kubeconfig string, flags ...string) (end func(), err error) {
	end, err = st.startExtra(kubeconfig, flags...)
	if err != nil {
		return nil, err
	}
	if err := st.awaitExtra(ctx, "/ready"); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// awaitExtra waits until the replica of startExtra has a path of its metrics address answer with 200.
func (st *stage) awaitExtra(ctx context.Context, path string) error {
	return st.Await(ctx, "the replica of scene "+st.scene.name+" answers "+path, func() bool {
		_, err := clienttest.Fetch(ctx, "http://"+extraAdmin+path)
		return err == nil
	})
}

// own starts clients of the scene with a bootstrap file of their own, in the languages that play
// the scene. The returned function ends them.
func (st *stage) own(bootstrap string, names []string, variables ...string) (list []*client, end func()) {
	for _, c := range st.clients {
		if slices.Contains(names, c.name) && c.skipped == "" {
			list = append(list, st.process(bootstrap, c.name, variables...))
		}
	}
	return list, func() {
		for _, c := range list {
			if c.program != nil {
				st.End(c.program, 0) // a client that waits for a request doesn't end by itself
			}
		}
	}
}

// with lets some clients do something instead of all.
func (st *stage) with(clients []*client, do func(*client) (result, error)) {
	all := st.clients
	defer func() { st.clients = all }()
	st.clients = clients
	st.each(do)
}

// named returns the clients with these names.
func (st *stage) named(names ...string) []*client {
	return slices.DeleteFunc(slices.Clone(st.clients), func(c *client) bool { return !slices.Contains(names, c.name) })
}

// path is that of a file of the scene.
func (st *stage) path(name string) string { return filepath.Join(st.Dir, st.scene.name+"-"+name) }

// succeedsWith calls a target until a call succeeds. The cell has how long the first call took and
// whether it failed.
func (st *stage) succeedsWith(ctx context.Context, c *client, target string) (result, error) {
	host := st.shops[0].host()
	first := result{}
	var r caller.Reply
	// A process in Java that has just been started may take ten seconds on a busy machine.
	err := clienttest.Await(ctx, clienttest.StartWithin, "a call of "+c.name+" to "+target+" succeeds", func() bool {
		var err error
		r, err = c.ask(ctx, host, caller.Request{Do: caller.Call, Count: 1, Target: target})
		if first.cell == "" {
			first.cell = fmt.Sprintf("%d of %d (first %.0f ms)", r.Failed, r.Calls, r.FirstMS)
		}
		return err == nil && r.Failed == 0
	})
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(errorsOf(r), "; "))
	}
	return first, err
}

// authorities resolves a name with an authority, which all replicas answer (case 8).
func authorities(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	st.with(st.named(clientGo, clientPython, clientJava, clientNode), func(c *client) (result, error) {
		return st.succeedsWith(ctx, c, fmt.Sprintf("xds://%s/%s:%d", authority, st.shops[0].host(), grpcPort))
	})
	return nil
}

// idle lets channels become idle: the clients end their subscriptions, and the next call succeeds
// at once (case 40). The replica serves these clients only, so that its metrics are about them.
func idle(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, "", ""); err != nil {
		return err
	}
	end, err := st.startReady(ctx, st.kubeconfig)
	if err != nil {
		return err
	}
	defer end()
	path := st.path("bootstrap.json")
	if err := bootstrapFile(ctx, path, "--server", fmt.Sprintf("dns:///%s:%d", podAddress(255, 5), extraPort)); err != nil {
		return err
	}
	clients, endClients := st.own(path, []string{clientGo, clientJava})
	defer endClients()
	// A timeout of a second is the shortest that grpc-java has.
	request := caller.Request{Do: caller.Call, Count: 1, IdleMS: 1000}
	call := func(c *client) (result, error) {
		r, err := c.ask(ctx, s.host(), request)
		out := result{cell: fmt.Sprintf("%d of %d (%.0f ms after idling)", r.Failed, r.Calls, r.FirstMS), details: errorsOf(r)}
		if r.Failed > 0 {
			out.problem = out.cell
		}
		return out, err
	}
	st.with(clients, call)
	var now []float64
	err = clienttest.Await(ctx, deadline, "the idle channels have no subscription", func() bool {
		now, err = clienttest.Metric(ctx, extraAdmin, "xds_subscriptions")
		return err == nil && !slices.ContainsFunc(now, func(n float64) bool { return n != 0 })
	})
	if err != nil {
		return fmt.Errorf("%w: %v subscriptions", err, now)
	}
	st.with(clients, func(c *client) (result, error) {
		begun := time.Now()
		out, err := call(c)
		if time.Since(begun) > firstWithin {
			out.problem = out.cell
		}
		return out, err
	})
	return nil
}

// dualStack has two pods with two addresses each. Of the one pod only the IPv4 address answers, of
// the other one only the IPv6 address: clients reach both pods (case 24, gRFC A61).
func dualStack(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.openDualStack(ctx); err != nil {
		return err
	}
	st.with(st.named(clientGo, clientPython), func(c *client) (result, error) {
		err := reaches(ctx, c, s)
		if err != nil {
			return result{}, err
		}
		r, err := c.call(ctx, s.host(), 100)
		out := result{cell: fmt.Sprintf("%d of %d; %d of 2 pods", r.Failed, r.Calls, len(r.By)), details: errorsOf(r)}
		if r.Failed > 0 || len(r.By) != 2 {
			out.problem = out.cell
		}
		return out, err
	})
	return nil
}

// peer resolves a name without a namespace, with a bootstrap file that says nothing of the client:
// from the address of a pod in the namespace of the Service, and from that of a pod in another one
// (case 5).
func peer(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, "", ""); err != nil {
		return err
	}
	end, err := st.startExtra(st.kubeconfig)
	if err != nil {
		return err
	}
	defer end()
	for i, in := range []struct{ namespace, want string }{{namespace, ""}, {"other", "namespace other"}} {
		pod, server := podAddress(253, i+1), podAddress(254, i+1)
		if err := st.pod(ctx, in.namespace, st.scene.name+"-client", pod); err != nil {
			return err
		}
		// Connections to this address of the server come from the address of the pod.
		if err := ip(ctx, "route", "add", "local", server.String(), "dev", "lo", "src", pod.String()); err != nil {
			return err
		}
		path := st.path(in.namespace + ".json")
		if err := bootstrapFile(ctx, path, "--server", fmt.Sprintf("dns:///%s:%d", server, extraPort)); err != nil {
			return err
		}
		if err := st.awaitExtra(ctx, "/ready"); err != nil {
			return err
		}
		st.fromPeer(ctx, path, in.want)
	}
	return nil
}

// fromPeer calls the Service by its short name. The call succeeds, or fails with an error that has the text.
func (st *stage) fromPeer(ctx context.Context, bootstrap, want string) {
	clients, end := st.own(bootstrap, []string{clientGo, clientPython})
	defer end()
	target := fmt.Sprintf("xds:///%s:%d", st.shops[0].name, grpcPort)
	st.with(clients, func(c *client) (result, error) {
		if want == "" {
			return st.succeedsWith(ctx, c, target)
		}
		r, err := c.ask(ctx, st.shops[0].host(), caller.Request{Do: caller.Call, Count: 1, Target: target})
		out := judgeUnknown(r)
		// The error of grpc-go has the name and not the reason.
		if out.problem == "" && c.name != clientGo && !strings.Contains(strings.Join(out.details, " "), want) {
			out.problem = "the error lacks " + want + ": " + strings.Join(out.details, " ")
		}
		return out, err
	})
}

// pod creates a running pod with addresses.
func (c *cluster) pod(ctx context.Context, namespace, name string, addresses ...netip.Addr) error {
	return c.podOf(ctx, namespace, "", name, addresses...)
}

// podOf creates a running pod of a service account.
func (c *cluster) podOf(ctx context.Context, namespace, account, name string, addresses ...netip.Addr) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       corev1.PodSpec{NodeName: "node-1", ServiceAccountName: account, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	pod, err := c.client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create pod %s/%s: %w", namespace, name, err)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addresses[0].String()}
	for _, a := range addresses {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a.String()})
	}
	if _, err := c.client.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the address of pod %s/%s: %w", namespace, name, err)
	}
	return nil
}

// ip runs the program ip in the network namespace.
func ip(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// unsynced starts a replica that doesn't know the cluster, because its API server is unreachable.
// It is the first of the servers in the bootstrap file: the client gets its answer from the second
// one (case 50).
func unsynced(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	kubeconfig, err := st.unreachable()
	if err != nil {
		return err
	}
	end, err := st.startExtra(kubeconfig)
	if err != nil {
		return err
	}
	defer end()
	if err := st.awaitExtra(ctx, "/ping"); err != nil {
		return err
	}
	path := st.path("bootstrap.json")
	err = bootstrapFile(ctx, path, "--server", fmt.Sprintf("dns:///%s:%d", podAddress(255, 3), extraPort), "--fallback", "dns:///"+serviceAddress)
	if err != nil {
		return err
	}
	clients, endClients := st.own(path, []string{clientGo})
	defer endClients()
	st.with(clients, func(c *client) (result, error) {
		out, err := st.succeedsWith(ctx, c, fmt.Sprintf("xds:///%s:%d", st.shops[0].host(), grpcPort))
		return out, err
	})
	return nil
}

// unreachable writes a kubeconfig whose API server is unreachable, and returns its path.
func (st *stage) unreachable() (string, error) {
	config, err := clientcmd.LoadFromFile(st.kubeconfig)
	if err != nil {
		return "", err
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://127.0.0.1:1"
	}
	path := st.path("kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// token resolves over TLS, with a service account token, the name of a Service in the namespace of
// the token (case 60). The client without a token is refused.
func token(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	server := podAddress(255, 4)
	cert, key, tokenFile := st.path("tls.crt"), st.path("tls.key"), st.path("token")
	err := errors.Join(certtest.WriteSelfSigned(cert, key, "signpost", server), st.writeToken(ctx, tokenFile))
	if err != nil {
		return err
	}
	end, err := st.startReady(ctx, st.kubeconfig, "--xds-auth", "token", "--xds-tls-cert", cert, "--xds-tls-key", key)
	if err != nil {
		return err
	}
	defer end()
	uri := fmt.Sprintf("dns:///%s:%d", server, extraPort)
	for path, flags := range map[string][]string{st.path("with.json"): {"--token-file", tokenFile}, st.path("without.json"): nil} {
		if err := bootstrapFile(ctx, path, append(flags, "--server", uri, "--tls-ca", cert)...); err != nil {
			return err
		}
	}
	const callCredentials = "GRPC_EXPERIMENTAL_XDS_BOOTSTRAP_CALL_CREDS=true"
	target := fmt.Sprintf("xds:///%s:%d", st.shops[0].name, grpcPort)
	clients, endClients := st.own(st.path("without.json"), []string{clientGo})
	defer endClients()
	st.with(clients, func(c *client) (result, error) {
		r, err := c.ask(ctx, st.shops[0].host(), caller.Request{Do: caller.Call, Count: 1, Target: target})
		out := result{details: errorsOf(r)}
		if r.Failed != 1 {
			out.problem = "a client without a token is served"
		}
		return out, err
	})
	// grpc-java 1.85 and grpc-js-xds 1.14 can't send tokens: docs/xds/clients.md.
	clients, endClients2 := st.own(st.path("with.json"), []string{clientGo, clientPython}, callCredentials)
	defer endClients2()
	st.with(clients, func(c *client) (result, error) { return st.succeedsWith(ctx, c, target) })
	return nil
}

// writeToken writes a token of a service account for Signpost.
func (st *stage) writeToken(ctx context.Context, path string) error {
	accounts := st.client.CoreV1().ServiceAccounts(namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: st.scene.name}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create service account %s: %w", account.Name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{auth.Audience}}}
	made, err := accounts.CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a token of service account %s: %w", account.Name, err)
	}
	return os.WriteFile(path, []byte(made.Status.Token), 0o600)
}
