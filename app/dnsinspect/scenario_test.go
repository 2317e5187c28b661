package dnsinspect_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/app/dnsinspect"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/internal/objectserver"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var update = flag.Bool("update", false, "write what is explained into the scenarios")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScenarios explains problems of objects, over a real BIND. A file has sections for further
// flags, the records of the zone example.test, its update policy, objects, objects that are deleted
// once the first ones are published, and queries, each with the verdict, the summary and the other
// steps. The section records has the listed records, with the objects that lose them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			playScenario(t, file)
		})
	}
}

const secret = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

func playScenario(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	part := func(name string) *txtar.File {
		for i := range archive.Files {
			if archive.Files[i].Name == name {
				return &archive.Files[i]
			}
		}
		return &txtar.File{}
	}
	s := startScenario(t, strings.TrimSpace(string(part("policy").Data)), string(part("zone").Data), strings.Fields(string(part("flags").Data)))
	s.apply(string(part("objects").Data))
	s.run()
	published := s.settle("")
	for _, line := range strings.Fields(string(part("delete").Data)) {
		kind, name, _ := strings.Cut(line, "/")
		if !s.objects.Delete(objectserver.Object{Kind: schema.GroupKind{Kind: kind}, NamespacedName: types.NamespacedName{Namespace: objectserver.DefaultNamespace, Name: name}}) {
			t.Fatal("there is no", line)
		}
	}
	if len(part("delete").Data) > 0 {
		s.settle(published)
	}
	want := part("explain")
	var got strings.Builder
	for line := range strings.Lines(string(want.Data)) {
		if q, ok := strings.CutPrefix(line, "? "); ok {
			got.WriteString(line + s.explain(strings.TrimSpace(q)))
		}
	}
	records := part("records")
	listed := ""
	if records.Name != "" {
		listed = s.records()
	}
	if *update {
		want.Data, records.Data = []byte(got.String()), []byte(listed)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(want.Data) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want.Data)
	}
	if listed != string(records.Data) {
		t.Errorf("listed:\n%s\nwant:\n%s", listed, records.Data)
	}
}

// scenario is a publisher over a BIND and an object server.
type scenario struct {
	t       *testing.T
	bind    *bindtest.Server
	objects *objectserver.Server
	opened  *configure.Opened
	cluster *kube.Cluster
	role    *dnsinspect.Role
	server  http.Handler
	standby bool
}

func startScenario(t *testing.T, policy, zone string, flags []string) *scenario {
	bind := bindtest.Serve(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: "example.test", Key: "k", Policy: policy, Records: zone}},
		Keys:  []bindtest.Key{{Name: "k", Algorithm: "hmac-sha256", Secret: secret}},
	})
	args := append([]string{
		"--source=service", "--provider=rfc2136", "--policy=sync", "--txt-owner-id=me", "--rfc2136-host=127.0.0.1",
		"--rfc2136-port=" + strconv.Itoa(int(bind.Addr.Port())), "--rfc2136-zone=example.test", "--rfc2136-axfr", "--rfc2136-tsig-keyname=k",
		"--rfc2136-tsig-secret=" + secret, "--rfc2136-tsig-secret-alg=hmac-sha256", "--deletion-delay=0s", "--interval=10s",
	}, flags...)
	options := configure.New()
	set := pflag.NewFlagSet("scenario", pflag.ContinueOnError)
	options.Flags(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	var kinds []schema.GroupKind
	for _, r := range options.Reads() {
		kinds = append(kinds, r.Kind.GroupKind())
	}
	s := &scenario{t: t, bind: bind, objects: objectserver.New(kinds...)}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	var err error
	if s.opened, err = options.Open(t.Context(), configure.Input{Log: log}); err != nil {
		t.Fatal(err)
	}
	if s.cluster, err = kube.New(kube.Options{Config: s.objects.Config(), Logger: log}, s.opened.Tables...); err != nil {
		t.Fatal(err)
	}
	leads := func() (bool, string) { return true, "" }
	s.role = dnsinspect.New([]dnsinspect.Publisher{{Publisher: s.opened.Publisher, Servers: s.opened.Servers, Kinds: s.opened.Kinds()}}, leads)
	offer := inspect.Offer{Role: "dns", Records: s.role, Zones: s.role, Explains: s.role}
	s.server = inspect.New(inspect.Config{Offers: []inspect.Offer{offer}}).Handlers()[inspect.Root+"/"]
	return s
}

func (s *scenario) apply(manifests string) {
	s.t.Helper()
	objects, err := manifest.Decode(strings.NewReader(manifests))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range objects {
		if err := s.objects.Put(o); err != nil {
			s.t.Fatal(err)
		}
	}
}

// run runs all parts until the test ends.
func (s *scenario) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	parts := append([]func(context.Context) error{s.cluster.Run, s.opened.Publisher.Run}, s.opened.Background...)
	if !s.standby {
		parts = append(parts, s.opened.Publisher.Lead)
	}
	for _, f := range parts {
		running.Go(func() {
			if err := f(ctx); err != nil {
				s.t.Error(err)
			}
		})
	}
	s.t.Cleanup(func() { cancel(); running.Wait() })
	<-s.cluster.Settled()
}

// settle waits until no record is pending and the records differ from those of before. It returns
// the records.
func (s *scenario) settle(former string) (records string) {
	s.t.Helper()
	before := ""
	kubetest.Eventually(s.t, 30*time.Second, func() error {
		trace, err := s.opened.Publisher.Trace(s.t.Context(), "any.example.test")
		if err != nil || len(trace.Unread) > 0 || len(trace.HoldingZones) != 1 || trace.HoldingZones[0].Read.IsZero() && trace.HoldingZones[0].Problem == "" {
			return fmt.Errorf("not all is read: %+v, %w", trace, err)
		}
		list, err := s.role.Records(s.t.Context(), inspect.RecordFilter{Limit: 100})
		if err != nil {
			return err
		}
		now, err := json.Marshal(list)
		if err != nil {
			return err
		}
		same := string(now) == before
		before = string(now)
		for _, r := range list.Records {
			if r.State == inspect.RecordPending {
				return fmt.Errorf("%s is pending: %s", r.Name, r.Message)
			}
		}
		if !same || before == former {
			return fmt.Errorf("something changes: %s", now)
		}
		return nil
	})
	return before
}

var (
	anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	anyHash = regexp.MustCompile(`approve [0-9a-f]{16}`)
	anyPort = regexp.MustCompile(`127\.0\.0\.1:\d+(->127\.0\.0\.1:\d+)?`)
)

// explain returns the explanation of a query: the verdict with the summary, and the steps with
// other texts.
func (s *scenario) explain(q string) string {
	s.t.Helper()
	request := httptest.NewRequest(http.MethodGet, "http://localhost"+inspect.ExplainPath+"?namespace=default&q="+url.QueryEscape(q), nil)
	request.RemoteAddr = "127.0.0.1:1"
	response := httptest.NewRecorder()
	s.server.ServeHTTP(response, request)
	var e inspect.Explanation
	if err := json.Unmarshal(response.Body.Bytes(), &e); err != nil || response.Code != http.StatusOK {
		s.t.Fatalf("explain %s: %d %s", q, response.Code, response.Body)
	}
	text := fmt.Sprintf("%s: %s\n", e.Verdict, e.Summary)
	for _, step := range e.Steps {
		if step.Text != e.Summary {
			text += fmt.Sprintf("  %s, %s: %s\n", step.What, step.State, step.Text)
		} else {
			text += fmt.Sprintf("  %s, %s\n", step.What, step.State)
		}
	}
	text = anyTime.ReplaceAllString(text, "TIME")
	text = anyHash.ReplaceAllString(text, "approve HASH")
	return anyPort.ReplaceAllString(text, "SERVER")
}

// records returns the listed records, without those that no object asks for.
func (s *scenario) records() string {
	s.t.Helper()
	list, err := s.role.Records(s.t.Context(), inspect.RecordFilter{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	for _, r := range list.Records {
		if len(r.Objects) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s %s, %s: %s %v %s\n", r.Name, r.Type, r.State, r.Targets, r.Objects, r.Message)
		for _, l := range r.Losers {
			fmt.Fprintf(&text, "  %v %s: %s\n", l.Objects, l.Wanted, l.Message)
		}
	}
	return text.String()
}
