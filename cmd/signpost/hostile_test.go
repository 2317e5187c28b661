package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	metapb "github.com/linkerd/linkerd2-proxy-api/go/meta"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/kube/linked"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

// evil is a text that sets the title of a terminal, colors it, starts a line and reverses its direction.
const evil = "x\x1b]0;PWNED\a\x1b[31m\nsignpost: all is well\r\u202e\u009b5m\u200b"

// checkTame fails the test if an output has a terminal command, or a line that comes from a value.
func checkTame(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("%s: writes %q:\n%q", what, r, text)
			return
		}
	}
	if strings.HasPrefix(text, "signpost: all is well") || strings.Contains(text, "\nsignpost: all is well") {
		t.Errorf("%s: a value has lines of its own:\n%s", what, text)
	}
}

// checkFormat is checkTame of an output and its errors in a format. An output in JSON must be valid.
func checkFormat(t *testing.T, what, format, out, errText string) {
	t.Helper()
	checkTame(t, what, errText)
	if format == "yaml" || strings.HasPrefix(format, "jsonpath") {
		// In this output, a value may have several lines, as in a user's file.
		out = strings.ReplaceAll(out, "\nsignpost: all is well", "")
	}
	checkTame(t, what, out)
	if format == "json" && out != "" && !json.Valid([]byte(out)) {
		t.Errorf("%s: no JSON:\n%s", what, out)
	}
}

// hostileProcess returns a process with evil text in all fields.
func hostileProcess() *inspecttest.Process {
	now, n := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 1
	ref := inspect.ObjectRef{Kind: evil, Namespace: evil, Name: evil, Cluster: evil}
	step := inspect.Step{Role: evil, What: evil, State: evil, Text: evil, Object: &ref, More: []string{evil}}
	return &inspecttest.Process{
		Status: &inspect.Status{
			Version: evil, Process: evil, Roles: []string{"destination", "dns", evil}, Details: []string{evil}, Started: now,
			Leading: []inspect.Leading{{Role: "dns", Lease: evil, Leader: evil, Leads: true}}, Tables: []inspect.Table{{Kind: evil, State: evil, Reason: evil, Detail: evil}},
			Clusters: []inspect.Cluster{{Name: evil, State: evil, Secret: evil, Server: evil, Reason: evil}}, Counts: inspect.Counts{Services: &n},
		},
		Streams:  []inspect.Stream{{ID: evil, Method: evil, Target: evil, Service: evil, Peer: evil, Pod: evil, Namespace: evil, Node: evil, View: evil, State: evil, Opened: now}},
		Services: []inspect.Service{{Namespace: evil, Name: evil, Ports: []string{evil}, Remote: evil}},
		Records:  []inspect.Record{{ID: evil, Publisher: evil, Zone: evil, Name: evil, Type: evil, SetIdentifier: evil, State: evil, Wanted: []string{evil}, Targets: []string{evil}, Owner: evil, Message: evil, Objects: []inspect.ObjectRef{ref}}},
		Zones:    []inspect.Zone{{Name: evil, Problem: evil}},
		Problems: []inspect.Problem{{ID: evil, Object: ref, Field: evil, Value: evil, Reason: evil, Since: now}},
		Clusters: []linked.Status{{Cluster: evil, State: evil, Secret: evil, Server: evil, TrustDomain: evil, Reason: evil}},
		Plans:    []inspect.Plan{{Publisher: evil, Zone: evil, Hash: heldHash, At: now, Changes: []inspect.Change{{Action: evil, Name: evil, Type: evil, SetIdentifier: evil, Targets: []string{evil}, NewTargets: []string{evil}}}}},
		Approved: func(string, []string) {},
		Explain: func(map[string][]string) *inspect.Explanation {
			return &inspect.Explanation{Subject: evil, Verdict: evil, Summary: evil, Steps: []inspect.Step{step}}
		},
	}
}

// TestHostileInspection shows that commands print only clean text, and valid JSON, for any response of the
// inspection API (tenants S12).
func TestHostileInspection(t *testing.T) {
	addr := hostileProcess().Start(t)
	for _, command := range []string{
		"status", "streams", "services", "problems", "records", "clusters", "explain www.example.org", "approve", "approve " + heldHash + " --show", "approve " + heldHash,
	} {
		for _, format := range []string{"", "wide", "json", "yaml", "name", "jsonpath={..name}", "custom-columns=A:.name,B:.zone"} {
			args := append(strings.Fields(command), "--addr", addr)
			if format != "" {
				args = append(args, "-o", format)
			}
			_, out, errText := runCommand(t.Context(), args...)
			if out == "" && errText == "" {
				t.Errorf("%s: nothing was written", args)
			}
			checkFormat(t, fmt.Sprint(args), format, out, errText)
		}
	}
	_, out, errText := runCommand(t.Context(), "records", "-o", "zone", "--addr", addr)
	checkTame(t, "records -o zone", out+errText)
}

// hostileDestination responds with evil text, or with an evil error.
type hostileDestination struct {
	pb.UnimplementedDestinationServer
	fails bool
}

func hostileAddr() *pb.WeightedAddr {
	return &pb.WeightedAddr{
		Addr: &netpb.TcpAddress{Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: 1}}, Port: 80}, Weight: 1,
		MetricLabels:      map[string]string{"pod": evil, "zone": evil, "zone_locality": evil},
		TlsIdentity:       &pb.TlsIdentity{Strategy: &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: &pb.TlsIdentity_DnsLikeIdentity{Name: evil}}},
		AuthorityOverride: &pb.AuthorityOverride{AuthorityOverride: evil},
		ProtocolHint:      &pb.ProtocolHint{},
	}
}

func (h *hostileDestination) Get(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	if h.fails {
		return status.Error(codes.InvalidArgument, evil)
	}
	return stream.Send(&pb.Update{Update: &pb.Update_Add{Add: &pb.WeightedAddrSet{Addrs: []*pb.WeightedAddr{hostileAddr()}, MetricLabels: map[string]string{"namespace": evil}}}})
}

func (h *hostileDestination) GetProfile(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.DestinationProfile]) error {
	if h.fails {
		return status.Error(codes.FailedPrecondition, evil)
	}
	return stream.Send(&pb.DestinationProfile{
		FullyQualifiedName: evil, Endpoint: hostileAddr(),
		ParentRef:    &metapb.Metadata{Kind: &metapb.Metadata_Resource{Resource: &metapb.Resource{Group: evil, Kind: evil, Name: evil, Namespace: evil, Section: evil}}},
		ProfileRef:   &metapb.Metadata{Kind: &metapb.Metadata_Default{Default: evil}},
		DstOverrides: []*pb.WeightedDst{{Authority: evil, Weight: 1}},
		Routes: []*pb.Route{{
			MetricsLabels: map[string]string{"route": evil},
			Condition:     &pb.RequestMatch{Match: &pb.RequestMatch_Path{Path: &pb.PathMatch{Regex: evil}}},
		}},
	})
}

// TestHostileDestination shows that get and profile don't print ESC, BEL and bidirectional characters of the
// server (tenants S12).
func TestHostileDestination(t *testing.T) {
	for _, fails := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		pb.RegisterDestinationServer(server, &hostileDestination{fails: fails})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		for _, command := range []string{"get", "profile"} {
			for _, format := range []string{"table", "wide", "json", "protojson", "yaml", "name"} {
				code, out, errText := runCommand(t.Context(), command, "web.shop:80", "--addr", l.Addr().String(), "-o", format)
				what := fmt.Sprint(command, " -o ", format, ", fails: ", fails)
				if (code == 0) == fails || fails && !strings.Contains(errText, "all is well") {
					t.Errorf("%s: %d\n%s%s", what, code, out, errText)
				}
				checkFormat(t, what, format, out, errText)
			}
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// hostileObjects are objects of a tenant with escape sequences in all fields that plan shows.
const hostileObjects = `apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: term, namespace: tenantb}
spec:
  endpoints:
  - {dnsName: t1.example.org, recordType: TXT, targets: ["a\u001b]0;PWNED\u0007b\u001b[31mred"]}
  - {dnsName: t2.example.org, recordType: A, targets: ["192.0.2.1"], setIdentifier: "s\u001b[5m\nsignpost: all is well", providerSpecific: [{name: "aws/x\u001b[32m", value: "v\u001b[33m"}], labels: {"k\u001b[34m": "l\u001b[35m"}}
  - {dnsName: "t3\u001b[36m.example.org", recordType: A, targets: ["192.0.2.1"]}
  - {dnsName: t4.example.org, recordType: "A\u001b[1m\nsignpost: all is well", targets: ["192.0.2.1\u001b[2m"]}
  - {dnsName: t5.example.org, recordType: CNAME, targets: ["x\u001b[36m.example.org"]}
  - {dnsName: t6.example.org, recordType: A, targets: ["x\u001b[36m\u202e\nsignpost: all is well"]}
---
apiVersion: v1
kind: Service
metadata:
  name: term
  namespace: tenantb
  annotations:
    external-dns.alpha.kubernetes.io/hostname: "s1.example.org,\e[31ms2.example.org\nsignpost: all is well"
    external-dns.alpha.kubernetes.io/target: "1.2.3.4\e]0;PWN\a"
    external-dns.alpha.kubernetes.io/ttl: "\e[31m5\nsignpost: all is well"
    external-dns.alpha.kubernetes.io/alias: "\e[31m5"
    external-dns.alpha.kubernetes.io/set-identifier: "\e[31mset"
    external-dns.alpha.kubernetes.io/aws-weight: "\e[31m5"
    external-dns.alpha.kubernetes.io/hostnam: "\e[31mtypo"
    external-dns.alpha.kubernetes.io/access: "\e[31macc"
    external-dns.alpha.kubernetes.io/controller: "dns-controller"
spec: {type: LoadBalancer, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.10}]}}
`

// TestHostilePlan shows that plan doesn't print escape sequences and line breaks of tenants (tenants S12).
func TestHostilePlan(t *testing.T) {
	dir := t.TempDir()
	objects, zone := filepath.Join(dir, "objects.yaml"), filepath.Join(dir, "zone")
	if err := os.WriteFile(objects, []byte(hostileObjects), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(zone, []byte(planZone1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"table", "json", "yaml", "name"} {
		args := []string{"plan", "--source=crd", "--source=service", "--policy=sync", "--managed-record-types=TXT", "--managed-record-types=A", "--managed-record-types=CNAME", "-f", objects, "--zone-file", zone, "--verbose", "-o", format}
		code, out, errText := runCommand(t.Context(), args...)
		if code == 0 || format == "table" && !strings.Contains(out, `\u001b`) {
			t.Errorf("-o %s: %d\n%s%s", format, code, out, errText)
		}
		checkFormat(t, "-o "+format, format, out, errText)
	}
}

// TestJSONLogFromTheFirstLine shows that with --log-format=json every line is JSON, including messages about
// flags (dns, finding 22).
func TestJSONLogFromTheFirstLine(t *testing.T) {
	ctx := t.Context()
	_, _, errText := runCommand(ctx, "dns", "--log-format=json", "--once", "--policy=sync", "--source=empty", "--provider=inmemory", "--inmemory-zone=example.org", "--registry=noop", "--rfc2136-tsig-axfr", "--metrics-address=127.0.0.1:0")
	first, _, _ := strings.Cut(errText, "\n")
	if !json.Valid([]byte(first)) || !strings.Contains(first, "rfc2136-tsig-axfr") {
		t.Errorf("the first line is %s\n%s", first, errText)
	}
}
