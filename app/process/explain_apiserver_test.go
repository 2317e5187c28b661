package process

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/tools/txtar"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/access"
	"github.com/signpostd/signpost/internal/golden"
	"github.com/signpostd/signpost/internal/report"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// explainDir has scenarios in which a Service isn't served. A file begins with a comment. The
// sections "apply" have objects in YAML, in the namespace $NS. The sections "ask QUERY" have the
// explanation: its verdict and summary, and the other steps that aren't ok.
const explainDir = "testdata/explain"

// TestExplanationsOnAPIServer queries a process with the roles destination and controllers, and a
// real API server.
func TestExplanationsOnAPIServer(t *testing.T) {
	api := roleServer{kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"}).Cluster}
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	c.RunsControllers, c.Controllers.Leader = true, quickLeader(c.Controllers.Leader, ns)
	s := serveConfig(t, c)
	s.awaitReady(t, "ok")
	api.Apply(t, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n", ns)
	paths, err := filepath.Glob(filepath.Join(explainDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s (%v)", explainDir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { api.playExplanations(t, s, path) })
	}
	t.Run("tokens", func(t *testing.T) { api.testTokens(t, ns) })
	t.Run("without rights", func(t *testing.T) { api.testExplainRights(t) })
	s.stop(t)
	t.Run("controllers only", func(t *testing.T) { api.testExplainControllers(t) })
	t.Run("problems end", func(t *testing.T) { api.testProblemsEnd(t) })
}

// testProblemsEnd fixes one object and deletes another one, whose problems then are no longer listed.
func (api roleServer) testProblemsEnd(t *testing.T) {
	ns, registry := api.Namespace(t), prometheus.NewRegistry()
	reporter, err := report.New(report.Config{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(t.Context(), api.destinationConfig(ns), slog.New(slog.DiscardHandler), registry, reporter.Report, reporter.Fixed)
	if err != nil {
		t.Fatal(err)
	}
	p.Inspection.Problems = func() []inspect.Problem { return inspectedProblems(reporter.Problems()) }
	s := serveRegistered(t, p, registry, nil)
	s.awaitReady(t, "ok")
	service := func(name, annotations string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}\nspec: {ports: [{port: 80}]}\n"
	}
	bad := "config.linkerd.io/opaque-ports: 99999x"
	api.Apply(t, service("fixed", bad), ns)
	api.Apply(t, service("deleted", bad), ns)
	listed := func(want int) func() error {
		return func() error {
			if all := fetchAs[inspect.ProblemList](t, s, inspect.ProblemsPath+"?search="+ns); len(all.Problems) != want {
				return fmt.Errorf("%d problems, want %d: %+v", len(all.Problems), want, all.Problems)
			}
			return nil
		}
	}
	kubetest.Eventually(t, deliveryTimeout, listed(2))
	api.Apply(t, service("fixed", "a: b"), ns)
	kubetest.Eventually(t, deliveryTimeout, listed(1))
	if err := api.Client.CoreV1().Services(ns).Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, deliveryTimeout, listed(0))
	s.stop(t)
}

// testExplainControllers queries a process that has no role but controllers.
func (api roleServer) testExplainControllers(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	c.RunsDestination, c.RunsControllers, c.Controllers.Leader = false, true, quickLeader(c.Controllers.Leader, ns)
	s := serveConfig(t, c)
	s.awaitReady(t, "ok")
	api.playExplanations(t, s, filepath.Join(explainDir, "controllers", "written.txtar"))
	s.stop(t)
}

func (api roleServer) playExplanations(t *testing.T, s served, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := scenarioNames{ns: api.Namespace(t), other: "no-other-namespace"}
	for i, f := range archive.Files {
		question, isQuestion := strings.CutPrefix(f.Name, "ask ")
		if !isQuestion {
			api.Apply(t, names.real(string(f.Data)), names.ns)
			continue
		}
		path := inspect.ExplainPath + "?" + url.Values{"q": {names.real(question)}}.Encode()
		if golden.Update() {
			time.Sleep(2 * time.Second) // until all is as it stays
			archive.Files[i].Data = []byte(names.symbolic(explained(fetchAs[inspect.Explanation](t, s, path))))
			continue
		}
		kubetest.Eventually(t, deliveryTimeout, func() error {
			if got := names.symbolic(explained(fetchAs[inspect.Explanation](t, s, path))); got != string(f.Data) {
				return fmt.Errorf("%s:\n%swant\n%s", question, got, f.Data)
			}
			return nil
		})
	}
	if golden.Update() {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// explained is an explanation as a file has it.
func explained(e inspect.Explanation) string {
	text := fmt.Sprintf("%s: %s\n", e.Verdict, e.Summary)
	for _, s := range e.Steps {
		if s.State != inspect.StepOK && s.Text != e.Summary {
			text += fmt.Sprintf("%s, %s: %s\n", s.What, s.State, s.Text)
		}
	}
	return text
}

// testTokens sends requests from another host with tokens of real service accounts.
func (api roleServer) testTokens(t *testing.T, ns string) {
	api.Apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: somebody}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: inspector-of-`+ns+`}
rules: [{nonResourceURLs: ["/signpost/api/v1alpha1/*"], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: inspector-of-`+ns+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: inspector-of-`+ns+`}
subjects: [{kind: ServiceAccount, name: operator, namespace: `+ns+`}]
`, ns)
	mux := http.NewServeMux()
	server := inspect.New(inspect.Config{Access: access.New(api.Client), Status: func() inspect.Status { return inspect.Status{} }})
	for path, handler := range server.Handlers() {
		mux.Handle(path, handler)
	}
	ask := func(account, method, path string) (int, string) {
		token, err := api.Client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.RemoteAddr = "10.42.0.7:40000"
		r.Header.Set("Authorization", "Bearer "+token.Status.Token)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	kubetest.Eventually(t, deliveryTimeout, func() error {
		if code, body := ask("operator", http.MethodGet, inspect.StatusPath); code != 200 {
			return fmt.Errorf("the operator: %d %s", code, body)
		}
		return nil
	})
	if code, body := ask("somebody", http.MethodGet, inspect.StatusPath); code != 403 || !strings.Contains(body, "system:serviceaccount:"+ns+":somebody") {
		t.Errorf("somebody: %d %s", code, body)
	}
	if code, body := ask("operator", http.MethodPost, inspect.ApprovePath("0123456789abcdef")); code != 403 || !strings.Contains(body, "post") {
		t.Errorf("the operator approves: %d %s", code, body)
	}
}

// testExplainRights queries a process with the roles of deploy/rbac: it has all rights that
// verdicts depend on, and can't check tokens.
func (api roleServer) testExplainRights(t *testing.T) {
	ns := api.Namespace(t)
	c := api.destinationConfig(ns)
	c.Process.Kubeconfig = api.kubeconfigOf(t, ns, "destination", "signpost-destination", "signpost-destination-links", "signpost-destination-writer", "signpost-destination-lease")
	s := serveConfig(t, c)
	s.awaitReady(t, "ok")
	api.Apply(t, podsOfWeb, ns)
	kubetest.Eventually(t, deliveryTimeout, func() error {
		e := fetchAs[inspect.Explanation](t, s, inspect.ExplainPath+"?service="+ns+"/web")
		// The other process makes the slices.
		if e.Verdict != inspect.VerdictOK || !strings.Contains(e.Summary, "served by 1 endpoint") {
			return fmt.Errorf("%s: %s", e.Verdict, e.Summary)
		}
		if text := explained(e); !strings.Contains(text, "may not list networkpolicies.networking.k8s.io") {
			return fmt.Errorf("%s", text)
		}
		return nil
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.admin+inspect.StatusPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a token, without the right to check it: %s", response.Status)
	}
	s.stop(t)
}
