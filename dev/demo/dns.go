package main

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/bindtest"
)

//go:embed dns.yaml
var webWithName []byte

// What dns.yaml asks for, and the name of the TXT record that says whose the record is.
const (
	shopZone      = "shop.example"
	hostname      = "www.shop.example"
	ownershipName = "a-www.shop.example"
	webAddress    = "203.0.113.80"
	hostnameOf    = "external-dns.alpha.kubernetes.io/hostname"
)

// published is how the demo waits for a record. It looks often because it shows how long
// that takes.
var published = wait{what: "Signpost to publish the record", limit: time.Minute, every: 2 * time.Millisecond}

// names shows how a name comes and goes with the Service that asks for it.
func (s *environment) names(ctx context.Context) error {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	key := bindtest.Key{Name: "signpost", Algorithm: "hmac-sha256", Secret: base64.StdEncoding.EncodeToString(secret)}
	say("Starting BIND, a DNS server, with the zone %s, which the key %s may change", shopZone, key.Name)
	var err error
	s.bind, err = bindtest.Start(ctx, bindtest.Config{Zones: []bindtest.Zone{{Name: shopZone, Key: key.Name}}, Keys: []bindtest.Key{key}})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		fmt.Printf("  BIND can't be started here, so this part is left out (make deps installs it): %v\n", err)
		return nil
	default:
		return s.namesInBIND(ctx, key)
	}
}

func (s *environment) namesInBIND(ctx context.Context, key bindtest.Key) error {
	addr := s.bind.Addr
	fmt.Printf("  it listens on %s\n", addr)
	where := []string{"--provider=rfc2136", "--rfc2136-host=" + addr.Addr().String(), fmt.Sprintf("--rfc2136-port=%d", addr.Port()), "--rfc2136-zone=" + shopZone}
	say("Starting Signpost in place of ExternalDNS: signpost dns --source=service --policy=sync %s …", strings.Join(where[:2], " "))
	args := append(where, "--rfc2136-axfr", "--rfc2136-tsig-keyname="+key.Name, "--rfc2136-tsig-secret-alg="+key.Algorithm, "--rfc2136-tsig-secret="+key.Secret)
	if err := s.startDNS(ctx, args...); err != nil {
		return err
	}
	server := nameServer{addr: addr}
	if err := server.dig(ctx, hostname, "A"); err != nil {
		return err
	}
	took, err := s.giveName(ctx, server)
	if err != nil {
		return err
	}
	fmt.Printf("  BIND answers with it %d ms after the request to write that into the status\n", took.Milliseconds())
	if err := server.dig(ctx, hostname, "A", webAddress); err != nil {
		return err
	}
	// This tells other programs, ExternalDNS among them, whose the record is.
	if err := server.dig(ctx, ownershipName, "TXT", "heritage=external-dns,", "external-dns/owner=default,external-dns/resource=service/shop/web"); err != nil {
		return err
	}
	if err := s.nothingToChange(ctx); err != nil {
		return err
	}
	took, err = s.takeName(ctx, server)
	if err != nil {
		return err
	}
	fmt.Printf("  BIND doesn't know the name any more, %d ms later\n", took.Milliseconds())
	if err := server.dig(ctx, hostname, "A"); err != nil {
		return err
	}
	return server.dig(ctx, ownershipName, "TXT")
}

// startDNS starts the publisher of records with what its provider needs.
func (s *environment) startDNS(ctx context.Context, provider ...string) error {
	var err error
	if s.dnsAdmin, err = childprocess.Address(); err != nil {
		return err
	}
	s.dnsFlags = append([]string{"--kubeconfig", s.kubeconfig, "--source=service", "--policy=sync", "--txt-prefix=%{record_type}-"}, provider...)
	if err := s.start(show("  "), "bin/signpost", append([]string{"dns", "--metrics-address", s.dnsAdmin}, s.dnsFlags...)...); err != nil {
		return err
	}
	_, err = s.ready(ctx, s.dnsAdmin, "ok")
	return err
}

// nothingToChange shows that the zone is as the objects of the cluster ask for.
func (s *environment) nothingToChange(ctx context.Context) error {
	say("What would be changed? signpost plan, with the same flags")
	out, err := exec.CommandContext(ctx, "bin/signpost", append([]string{"plan"}, s.dnsFlags...)...).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for line := range strings.Lines(string(out)) {
		fmt.Println("  " + strings.TrimSuffix(line, "\n"))
	}
	switch {
	case err != nil:
		return fmt.Errorf("signpost plan: %w", err)
	case !strings.HasPrefix(string(out), "Nothing to change"):
		return errors.New("signpost plan: want nothing to change")
	}
	return nil
}

// giveName gives the Service web a name and then an address, and returns how long it took
// from there until the server answers with it.
func (s *environment) giveName(ctx context.Context, server nameServer) (time.Duration, error) {
	say("kubectl apply -f dev/demo/dns.yaml: the Service web asks for an address, and for the name %s", hostname)
	if err := s.manifests.ApplyAll(ctx, bytes.NewReader(webWithName), "shop"); err != nil {
		return 0, err
	}
	say("The cloud has an address for it, %s", webAddress)
	begun := time.Now()
	status := fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, webAddress)
	if _, err := s.client.CoreV1().Services("shop").Patch(ctx, "web", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		return 0, fmt.Errorf("write the status of service web: %w", err)
	}
	err := s.poll(ctx, published, func() (bool, error) { return server.answers(ctx, hostname, webAddress) })
	return time.Since(begun), err
}

// takeName takes the name from the Service, and returns how long it took until the server doesn't know it.
func (s *environment) takeName(ctx context.Context, server nameServer) (time.Duration, error) {
	say("kubectl -n shop annotate service web %s-", hostnameOf)
	begun := time.Now()
	without := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, hostnameOf)
	if _, err := s.client.CoreV1().Services("shop").Patch(ctx, "web", types.MergePatchType, []byte(without), metav1.PatchOptions{}); err != nil {
		return 0, fmt.Errorf("annotate service web: %w", err)
	}
	err := s.poll(ctx, published, func() (bool, error) { return server.answers(ctx, hostname, "") })
	return time.Since(begun), err
}
