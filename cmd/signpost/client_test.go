package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/inspecttest"
	"github.com/signpostd/signpost/testkit/reachtest"
)

const heldHash = "0123456789abcdef"

// fakeCluster is an API server with two replicas of the dns role. The second one leads.
func fakeCluster(t *testing.T, leader *inspecttest.Process) (kubeconfig string) {
	t.Helper()
	standby := &inspecttest.Process{
		Status:     &inspect.Status{Roles: []string{"dns"}, Leading: []inspect.Leading{{Role: "dns"}}},
		NotLeading: &inspect.Failure{Error: "this process does not lead: ask the leader, signpost-1"},
	}
	server := &reachtest.Server{
		Pods:  []corev1.Pod{reachtest.Pod("dns", "signpost-0", "dns"), reachtest.Pod("dns", "signpost-1", "dns")},
		Ports: map[string]string{"dns/signpost-0:7979": standby.Start(t), "dns/signpost-1:7979": leader.Start(t)},
		Other: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			list := corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}}
			if strings.HasSuffix(r.URL.Path, "/serviceaccounts/default/token") {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(authenticationv1.TokenRequest{
					TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}, Status: authenticationv1.TokenRequestStatus{Token: "for-approval"},
				})
				return
			}
			kind := strings.TrimPrefix(r.URL.Path, "/api/v1/")
			switch kind {
			case "namespaces":
				list.Kind = "NamespaceList"
				list.Items = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "dns"}}, {ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
			case "namespaces/shop/services":
				list.Items = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "cart"}}, {ObjectMeta: metav1.ObjectMeta{Name: "web"}}}
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(list) // the client reports the error
		}),
	}
	return server.Start(t)
}

func leader() *inspecttest.Process {
	return &inspecttest.Process{
		Status:  &inspect.Status{Roles: []string{"dns"}, Leading: []inspect.Leading{{Role: "dns", Leads: true}}},
		Zones:   []inspect.Zone{{Name: "example.org"}, {Name: "example.net"}},
		Records: []inspect.Record{{Zone: "example.org", Name: "www.example.org", Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1"}, TTL: 300}, {Zone: "example.net", Name: "old.example.net", Type: "A", State: inspect.RecordHeld, Targets: []string{"192.0.2.2"}}},
		Plans:   []inspect.Plan{{Zone: "example.net", Hash: heldHash, Deletions: 1, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Changes: []inspect.Change{{Action: "delete", Name: "old.example.net", Type: "A", Targets: []string{"192.0.2.2"}}}}},
		Explain: func(query map[string][]string) *inspect.Explanation {
			step := []inspect.Step{{Role: "dns", What: "Asked", State: inspect.StepNote, Text: fmt.Sprint(query)}}
			switch {
			case query["name"] != nil:
				return &inspect.Explanation{Subject: query["name"][0], Verdict: inspect.VerdictOK, Summary: "It is published.", Steps: step}
			case query["service"] != nil:
				return &inspect.Explanation{Subject: query["service"][0], Verdict: inspect.VerdictWrong, Summary: "Add a zone.", Steps: step}
			case query["object"] != nil:
				return &inspect.Explanation{Subject: query["object"][0], Verdict: inspect.VerdictUnknown, Summary: "The zone can't be read.", Steps: step}
			}
			return nil
		},
	}
}

// TestClientCommands shows that commands find the leader.
func TestClientCommands(t *testing.T) {
	approved := ""
	process := leader()
	process.Approved = func(hash string, except []string) { approved += hash + " " + strings.Join(except, "+") }
	kubeconfig := fakeCluster(t, process)
	for _, test := range []struct {
		args string
		code int
		out  string // must be in the output
	}{
		{args: "records -o name", out: "record/example.net/old.example.net/A\nrecord/example.org/www.example.org/A\n"},
		{args: "records Example.org. -o zone", out: "\nwww.example.org.\t300\tIN\tA\t192.0.2.1\n"},
		{args: "records --state held,conflict -o name", out: "record/example.net/old.example.net/A\n"},
		{args: "explain www.example.org", out: "\n\nIt is published.\n"},
		{args: "explain svc/web -n shop", code: 1, out: "\n\nAdd a zone.\n"},
		{args: "explain svc/web -n shop -o jsonpath={.subject}", code: 1, out: "shop/web\n"},
		{args: "explain Ingress/web --namespace shop", code: 2, out: "\n\nThe zone can't be read.\n"},
		{args: "explain 10.0.0.1", code: 2},
		{args: "approve -o name", out: "plan/" + heldHash + "\n"},
		{args: "approve " + heldHash + " --show", out: "delete  old.example.net  A     192.0.2.2"},
		{args: "approve " + heldHash + " --except a --except b", out: "approved in the zone example.net: deletions 1, updates 0\n"},
		{args: "approve 00000000000000ff", code: 1},
		{args: "status -o custom-columns=P:.process", out: "P\nsignpost-0\nsignpost-1\n"},
		{args: "status --signpost-namespace none", code: 1},
		{args: "records exmaple.org -o zone", code: 2},
		{args: "streams", code: 1},
	} {
		code, out, errText := runCommand(t.Context(), append(strings.Fields(test.args), "--kubeconfig", kubeconfig)...)
		if code != test.code || !strings.Contains(out, test.out) || (test.out == "") != (errText != "") {
			t.Errorf("%s: status %d, %s\n%s", test.args, code, out, errText)
		}
	}
	if approved != heldHash+" a+b" {
		t.Errorf("approved %q", approved)
	}
}

// TestCompletion shows that shells get static values, those of the kubeconfig and of the cluster, and those
// of processes (B14).
func TestCompletion(t *testing.T) {
	kubeconfig := fakeCluster(t, leader())
	t.Setenv("KUBECONFIG", kubeconfig)
	for args, want := range map[string]string{
		"dns --policy |":                      "sync upsert-only create-only",
		"plan --registry |":                   "txt noop dynamodb crd aws-sd",
		"dns --provider rfc|":                 "rfc2136",
		"dns --source contour-h|":             "contour-httpproxy",
		"dns --log-format |":                  "plain text json",
		"destination --log-level |":           "panic fatal error warn info debug trace",
		"controllers --controllers |":         "endpoints -endpoints endpointslices -endpointslices mirroring -mirroring externalworkloads -externalworkloads *",
		"records --state |":                   "published pending held conflict no-zone failing unwanted foreign",
		"streams --state |":                   "synced behind stale",
		"status -o |":                         "table wide json yaml name jsonpath= custom-columns=",
		"records -o z|":                       "zone",
		"explain -n s|":                       "shop",
		"get --signpost-namespace |":          "dns shop",
		"explain --context |":                 "test",
		"explain -n shop |":                   "svc/cart svc/web",
		"get -n shop svc/w|":                  "svc/web",
		"streams -n shop svc/c|":              "svc/cart",
		"records |":                           "example.net example.org",
		"approve |":                           heldHash,
		"approve " + heldHash + " |":          "",
		"dns --txt-owner-id |":                "",
		"status |":                            "",
		"profile --kubeconfig nonesuch svc/|": "",
	} {
		words := strings.Fields(strings.TrimSuffix(args, "|"))
		if strings.HasSuffix(args, " |") {
			words = append(words, "")
		}
		_, out, _ := runCommand(t.Context(), append([]string{"__complete"}, words...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		directive := lines[len(lines)-1]
		if got := strings.Join(lines[:len(lines)-1], " "); got != want || directive == ":0" {
			t.Errorf("%s: got %q, %s; want %q", args, got, directive, want)
		}
	}
}

// TestCompletionOfASilentCluster shows that completion doesn't wait for a cluster that doesn't respond.
func TestCompletionOfASilentCluster(t *testing.T) {
	server := &reachtest.Server{Pods: []corev1.Pod{reachtest.Pod("dns", "signpost-0", "dns")}, Protocol: reachtest.Silent}
	t.Setenv("KUBECONFIG", server.Start(t))
	begun := time.Now()
	if _, out, _ := runCommand(t.Context(), "__complete", "records", ""); !strings.HasPrefix(out, ":") {
		t.Errorf("got %q", out)
	}
	if took := time.Since(begun); took > 3*completionTime {
		t.Errorf("it took %v", took)
	}
}

// TestPrograms covers the other names of the binary (O2 and B15).
func TestPrograms(t *testing.T) {
	for name, want := range map[string]program{
		"/usr/bin/signpost": signpostProgram, "kubectl-signpost": kubectlProgram, "/usr/local/bin/kubectl-signpost": kubectlProgram, `kubectl-signpost.exe`: kubectlProgram, "kubectl_signpost": kubectlProgram,
		"/bin/external-dns": externalDNSProgram, "./signpost-v1": signpostProgram,
	} {
		if got := programOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	var out, errText strings.Builder
	run := func(p program, args ...string) int {
		out.Reset()
		errText.Reset()
		return executeAs(t.Context(), p, args, streams{out: &out, err: &errText})
	}
	t.Setenv("KUBECONFIG", "nonesuch")
	if code := run(externalDNSProgram, "--source=empty", "--provider=inmemory", "--policy=sync", "--once", "--dry-run", "--no-events"); code != 0 {
		t.Errorf("external-dns: %d, %s", code, &errText)
	}
	if code := run(externalDNSProgram, "--version"); code != 0 || !strings.HasPrefix(out.String(), "dev") {
		t.Errorf("external-dns --version: %d, %s%s", code, &out, &errText)
	}
	if code := run(kubectlProgram, "--help"); code != 0 || !strings.Contains(out.String(), "  kubectl signpost [command]\n") || strings.Contains(out.String(), "Server roles") {
		t.Errorf("kubectl signpost --help: %d, %s", code, &out)
	}
	if run(kubectlProgram, "explain", "--help"); !strings.Contains(out.String(), "  kubectl signpost explain SUBJECT [flags]\n") || !strings.Contains(out.String(), "\n  kubectl signpost explain svc/web -n shop\n") {
		t.Errorf("kubectl signpost explain --help: %s", &out)
	}
	if code := run(kubectlProgram, "destination"); code != exitUsage || !strings.Contains(errText.String(), "unknown command") {
		t.Errorf("kubectl signpost destination: %d, %s", code, &errText)
	}
}

// TestHelpIsNotWide shows that help is at most as wide as the terminal, and 100 columns wide without one
// (B12).
func TestHelpIsNotWide(t *testing.T) {
	root := newRootCommand(streams{})
	for _, c := range root.Commands() {
		_, out, _ := runCommand(t.Context(), c.Name(), "--help")
		for line := range strings.Lines(out) {
			if len([]rune(line)) > plainWidth+1 && !strings.Contains(line, "controllers=*") && !strings.Contains(line, "[external-dns") {
				t.Errorf("%s: %d columns: %s", c.Name(), len(line), line)
			}
		}
	}
}
