package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
	"github.com/signpostd/signpost/testkit/certtest"
)

// trustStorePassword protects a trust store that has nothing secret; keytool makes none without one.
const trustStorePassword = "changeit"

// serverTLS resolves over TLS with the bootstrap file that `signpost xds bootstrap --tls-ca` prints (case
// 62). Java ignores the path in the file, and trusts the authorities of the trust store of the JVM only. Node
// refuses the file.
func serverTLS(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	server := podAddress(255, 6)
	cert, key := st.path("tls.crt"), st.path("tls.key")
	if err := certtest.WriteSelfSigned(cert, key, "signpost", server); err != nil {
		return err
	}
	end, err := st.startReady(ctx, st.kubeconfig, "--xds-tls-cert", cert, "--xds-tls-key", key)
	if err != nil {
		return err
	}
	defer end()
	path := st.path("bootstrap.json")
	if err := bootstrapFile(ctx, path, "--server", fmt.Sprintf("dns:///%s:%d", server, extraPort), "--tls-ca", cert); err != nil {
		return err
	}
	target := fmt.Sprintf("xds:///%s:%d", st.shops[0].host(), grpcPort)
	st.refused(ctx, path, target, clientJava, clientNode)
	clients, endClients := st.own(path, []string{clientGo, clientPython})
	defer endClients()
	st.with(clients, func(c *client) (result, error) { return st.succeedsWith(ctx, c, target) })
	return st.withTrustStore(ctx, path, target, cert)
}

// withTrustStore lets Java resolve with a trust store that has a certificate.
func (st *stage) withTrustStore(ctx context.Context, bootstrap, target, cert string) error {
	if notInstalled(clientJava) != "" || len(st.named(clientJava)) == 0 {
		return nil
	}
	store := st.path("trust.p12")
	made, err := exec.CommandContext(ctx, "keytool", "-importcert", "-noprompt", "-alias", "signpost", "-file", cert,
		"-storetype", "PKCS12", "-keystore", store, "-storepass", trustStorePassword).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the trust store %s with keytool: %w: %s", store, err, made)
	}
	clients, end := st.own(bootstrap, []string{clientJava},
		"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore="+store+" -Djavax.net.ssl.trustStorePassword="+trustStorePassword)
	defer end()
	st.with(clients, func(c *client) (result, error) { return st.succeedsWith(ctx, c, target) })
	return nil
}

// refused lets clients in some languages make a call, which must fail. The cell has why.
func (st *stage) refused(ctx context.Context, bootstrap, target string, names ...string) {
	clients, end := st.own(bootstrap, names)
	defer end()
	st.with(clients, func(c *client) (result, error) {
		r, err := c.ask(ctx, st.shops[0].host(), caller.Request{Do: caller.Call, Count: 1, Target: target})
		out := result{cell: "refused: " + strings.Join(errorsOf(r), "; ")}
		if r.Failed != r.Calls {
			out.problem = c.name + " is served with " + bootstrap
		}
		return out, err
	})
}

// clientTLS resolves with a client certificate, whose namespace is that of a name without one (case
// 60). A client without a certificate, or with one of another trust domain, is refused. One of
// another namespace doesn't find the Service.
func clientTLS(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	server := podAddress(255, 7)
	a, err := certtest.NewAuthority()
	if err != nil {
		return err
	}
	err = errors.Join(
		a.Write(st.path("server"), "spiffe://cluster.local/ns/signpost/sa/signpost-xds", server),
		a.Write(st.path(namespace), "spiffe://cluster.local/ns/"+namespace+"/sa/client"),
		a.Write(st.path("other"), "spiffe://cluster.local/ns/other/sa/client"),
		a.Write(st.path("elsewhere"), "spiffe://elsewhere.test/ns/"+namespace+"/sa/client"),
	)
	if err != nil {
		return err
	}
	ca := st.path("server") + "/ca.crt"
	end, err := st.startExtra(st.kubeconfig, "--xds-auth", "mtls", "--xds-client-ca", ca,
		"--xds-tls-cert", st.path("server")+"/tls.crt", "--xds-tls-key", st.path("server")+"/tls.key")
	if err != nil {
		return err
	}
	defer end()
	if err := st.awaitExtra(ctx, "/ready"); err != nil {
		return err
	}
	flags := func(of string) []string {
		list := []string{"--server", fmt.Sprintf("dns:///%s:%d", server, extraPort), "--tls-ca", ca}
		if of == "none" {
			return list
		}
		return append(list, "--tls-cert", st.path(of)+"/tls.crt", "--tls-key", st.path(of)+"/tls.key")
	}
	for _, of := range []string{"none", "other", "elsewhere", namespace} {
		if err := bootstrapFile(ctx, st.path(of+".json"), flags(of)...); err != nil {
			return err
		}
	}
	short := fmt.Sprintf("xds:///%s:%d", st.shops[0].name, grpcPort)
	st.refused(ctx, st.path("none.json"), short, clientGo, clientPython)
	st.refused(ctx, st.path("other.json"), short, clientGo, clientPython)
	st.refused(ctx, st.path("elsewhere.json"), short, clientGo, clientPython)
	clients, endClients := st.own(st.path(namespace+".json"), []string{clientGo, clientPython})
	defer endClients()
	st.with(clients, func(c *client) (result, error) { return st.succeedsWith(ctx, c, short) })
	return st.envoyWithCertificate(ctx, flags(namespace))
}

// envoyWithCertificate lets Envoy get the Clusters of the namespace that its certificate names, with what
// `signpost xds bootstrap --envoy` prints with these flags (case 62).
func (st *stage) envoyWithCertificate(ctx context.Context, flags []string) error {
	if skipped := notInstalled("envoy"); skipped != "" {
		st.say("Envoy: %s", skipped)
		return nil
	}
	e := &wildEnvoy{name: "certificate", admin: "127.0.0.1:10121"}
	p, err := st.launchEnvoy(ctx, e.name, "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 10121}}}", flags...)
	if err != nil {
		return err
	}
	if err := awaitEnvoy(ctx, e.admin, p); err != nil {
		return err
	}
	err = e.await(ctx, clienttest.StartWithin, "Envoy has the Clusters of its namespace", func(n stats) bool { return n.active > portsOfShop && n.warming == 0 })
	if err == nil {
		st.say("Envoy: has the Clusters of the namespace in its certificate")
	}
	return err
}

// endpointTLS has pods that speak TLS, each with the identity of its service account, and a Service that
// requires this of clients (case 39). A pod is called while its certificate has the identity of its service
// account. A client without certificates doesn't call pods in plain text instead.
func endpointTLS(ctx context.Context, st *stage) error {
	s := st.shops[0]
	a, err := certtest.NewAuthority()
	if err != nil {
		return err
	}
	const account, other = "web", "other"
	cert, err := a.Issue("spiffe://cluster.local/ns/" + namespace + "/sa/" + account)
	if err != nil {
		return err
	}
	creds := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool(), MinVersion: tls.VersionTLS12,
	})
	for i := range 2 {
		if err := s.start(ctx, "", grpc.Creds(creds)); err != nil {
			return err
		}
		b := s.pods[i]
		for _, of := range []string{account, other} {
			if err := st.podOf(ctx, namespace, of, b.name+"-"+of, b.address); err != nil {
				return err
			}
		}
	}
	// as lets the endpoints be the pods of a service account.
	as := func(account string) error {
		for _, b := range s.pods {
			b.pod = b.name + "-" + account
		}
		return s.write(ctx)
	}
	if err := errors.Join(s.create(ctx, map[string]string{"signpost.dev/tls": "spiffe"}), as(other), a.Write(st.path("certs"), "spiffe://cluster.local/ns/"+namespace+"/sa/client")); err != nil {
		return err
	}
	if err := s.known(ctx); err != nil {
		return err
	}
	// Clients without certificates reject the Cluster. They have a replica of their own, because rejections
	// at those that all scenes use are a failure.
	endExtra, err := st.startExtra(st.kubeconfig)
	if err != nil {
		return err
	}
	defer endExtra()
	err = errors.Join(
		st.awaitExtra(ctx, "/ready"),
		bootstrapFile(ctx, st.path("without.json"), "--server", fmt.Sprintf("dns:///%s:%d", podAddress(255, 8), extraPort)),
		bootstrapFile(ctx, st.path("with.json"), "--server", "dns:///"+serviceAddress, "--certs", st.path("certs")),
	)
	if err != nil {
		return err
	}
	languages := []string{clientGo, clientPython, clientJava, clientNode}
	call := func(c *client) (caller.Reply, error) {
		return c.ask(ctx, s.host(), caller.Request{Do: caller.Call, Count: len(s.pods), XDSCredentials: true})
	}
	without, endWithout := st.own(st.path("without.json"), languages)
	defer endWithout()
	st.with(without, func(c *client) (result, error) {
		r, err := call(c)
		out := result{details: errorsOf(r)}
		if r.Failed != r.Calls {
			out.problem = "a client without certificates calls pods that have TLS"
		}
		return out, err
	})
	clients, end := st.own(st.path("with.json"), languages)
	defer end()
	reaches := func(c *client) error {
		seen := map[string]bool{}
		var r caller.Reply
		err := clienttest.Await(ctx, backWithin, "calls of "+c.name+" over TLS reach all pods", func() bool {
			var err error
			r, err = call(c)
			for pod := range r.By {
				seen[pod] = true
			}
			return err == nil && r.Failed == 0 && len(seen) == len(s.pods)
		})
		if err != nil {
			err = fmt.Errorf("%w: %s", err, strings.Join(errorsOf(r), "; "))
		}
		return err
	}
	st.with(clients, func(c *client) (result, error) {
		return result{}, clienttest.Await(ctx, clienttest.StartWithin, "calls of "+c.name+" to pods with the identity of another service account fail", func() bool {
			r, err := call(c)
			return err == nil && r.Failed == r.Calls
		})
	})
	if err := as(account); err != nil {
		return err
	}
	begun := time.Now()
	st.with(clients, func(c *client) (result, error) {
		err := reaches(c)
		return result{cell: fmt.Sprintf("refused with another identity; OK %d ms after it is the right one", time.Since(begun).Milliseconds())}, err
	})
	return nil
}
