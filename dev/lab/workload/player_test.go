package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dns/bindtest"
	"github.com/signpostd/signpost/internal/kubetest"
)

var (
	crds      = filepath.Join("..", "..", "..", "deploy", "crds")
	personKey = Key{Name: "person", Algorithm: "hmac-sha256", Secret: "cGVyc29ucGVyc29ucGVyc29ucGVyc29u"}
)

func startBIND(t *testing.T, p Plan) *bindtest.Server {
	t.Helper()
	name := strings.TrimSuffix(p.Settings().Zone, ".")
	s, err := bindtest.Start(t.Context(), bindtest.Config{
		Zones: []bindtest.Zone{{Name: name, Key: personKey.Name, Records: p.ZoneRecords()}},
		Keys:  []bindtest.Key{{Name: personKey.Name, Algorithm: personKey.Algorithm, Secret: personKey.Secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newRecorder(t *testing.T) *history.Recorder {
	t.Helper()
	r, err := history.NewRecorder(history.Setup{}, filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// meddler fails some requests, before they are sent or after they were answered, and tells how many there have been.
type meddler struct {
	next     http.RoundTripper
	requests atomic.Int64
	fail     func(number int64) string
	reached  func(number int64)
}

func (m *meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	number := m.requests.Add(1)
	if m.reached != nil {
		m.reached(number)
	}
	how := ""
	if m.fail != nil {
		how = m.fail(number)
	}
	switch how {
	case "429":
		return answer(r, http.StatusTooManyRequests), nil
	case "503":
		return answer(r, http.StatusServiceUnavailable), nil
	case "lost before":
		return nil, errors.New("connection reset by peer")
	}
	response, err := m.next.RoundTrip(r)
	if err != nil || how == "" {
		return response, err
	}
	_ = response.Body.Close()
	if how == "500 after" {
		return answer(r, http.StatusInternalServerError), nil
	}
	return nil, errors.New("connection reset by peer")
}

func (m *meddler) WrappedRoundTripper() http.RoundTripper { return m.next }

func answer(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}
}

func newPlayer(t *testing.T, plan Plan, api *rest.Config, server netip.AddrPort, recorder Recorder, m *meddler) *Player {
	t.Helper()
	api = rest.CopyConfig(api)
	api.Wrap(func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	})
	p, err := NewPlayer(Config{Plan: plan, API: api, NameServer: server, Key: personKey, Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The objects and the zone are what the plan says, whatever happens to requests on the way.
func TestPlayer(t *testing.T) {
	for name, fail := range map[string]func(int64) string{
		"undisturbed": nil,
		"refused":     every(5, "429", "503", "lost before"),
		"answer lost": every(4, "lost after", "500 after"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := kubetest.Start(t)
			plan := mustNew(t, Settings{Seed: 3, Namespace: "play-" + strings.ReplaceAll(name, " ", "-"), Rate: 30})
			bind, recorder := startBIND(t, plan), newRecorder(t)
			p := newPlayer(t, plan, cluster.Config, bind.Addr, recorder, &meddler{fail: fail})
			played := play(t, p, 6*time.Second)
			if name == "undisturbed" && played.Repeated != 0 || name != "undisturbed" && played.Repeated < 20 {
				t.Errorf("played %+v", played)
			}
			compareObjects(t, plan, cluster, 6*time.Second)
			compareZone(t, plan, bind, recorder, 6*time.Second)
		})
	}
}

// every fails each nth request in one of several ways.
func every(n int64, ways ...string) func(int64) string {
	return func(number int64) string {
		if number%n != 0 {
			return ""
		}
		return ways[number/n%int64(len(ways))]
	}
}

func play(t *testing.T, p *Player, duration time.Duration) Played {
	t.Helper()
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	played, err := p.Play(t.Context(), duration)
	if err != nil {
		t.Fatal(err)
	}
	want := len(until(p.plan, duration))
	if played.Made+played.Pointless != want || played.Made < want*9/10 {
		t.Errorf("played %+v of %d edits", played, want)
	}
	return played
}

// The API server and etcd die, and the name server stops, while edits are made: the objects and the zone are what the plan says.
func TestPlayerSurvives(t *testing.T) {
	const length = 15 * time.Second
	cluster := kubetest.StartOwn(t, kubetest.Options{CRDs: crds, RestartDelay: 2 * time.Second})
	plan := mustNew(t, Settings{Seed: 6, Rate: 25})
	bind, recorder := startBIND(t, plan), newRecorder(t)
	reached := make(chan int64, 10000)
	p := newPlayer(t, plan, cluster.Config, bind.Addr, recorder, &meddler{reached: func(number int64) { reached <- number }})
	first := int64(len(plan.Initial()) + 30)
	var faults sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer faults.Wait()
	defer cancel()
	faults.Go(func() {
		for _, f := range []struct {
			at int64
			do func() error
		}{
			{first, func() error { cluster.Kill(kubetest.APIServer); return nil }},
			{first + 60, func() error { return bind.Pause(ctx) }},
			{first + 110, func() error { cluster.Kill(kubetest.Etcd); return nil }},
			{first + 180, bind.Resume},
			{first + 200, func() error { cluster.Kill(kubetest.APIServer); return nil }},
		} {
			for number := int64(0); number < f.at; {
				select {
				case number = <-reached:
				case <-ctx.Done():
					t.Errorf("request %d never came", f.at)
					return
				}
			}
			if err := f.do(); err != nil {
				t.Error(err)
			}
		}
	})
	played := play(t, p, length)
	t.Logf("played %+v", played)
	if played.Repeated < 5 {
		t.Errorf("played %+v: no fault had an effect", played)
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		_, err := cluster.Client.Discovery().ServerVersion()
		return err
	})
	compareObjects(t, plan, cluster.Cluster, length)
	compareZone(t, plan, bind, recorder, length)
}

// compareObjects compares what is there with the plan.
func compareObjects(t *testing.T, plan Plan, cluster *kubetest.Cluster, before time.Duration) {
	t.Helper()
	there := map[string]map[string]any{}
	for _, group := range []string{"v1 Service", "v1 Pod", "v1 Endpoints", "discovery.k8s.io/v1 EndpointSlice", "externaldns.k8s.io/v1alpha1 DNSEndpoint", "linkerd.io/v1alpha2 ServiceProfile", "policy.linkerd.io/v1beta3 Server", "workload.linkerd.io/v1beta1 ExternalWorkload"} {
		version, kind, _ := strings.Cut(group, " ")
		for _, o := range list(t, cluster.Dynamic, version, kind, plan.Settings().Namespace) {
			there[kind+" "+o.GetName()] = o.Object
		}
	}
	want := plan.Objects(before)
	for _, o := range want {
		if o.GetNamespace() == "" {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		got := there[name(o)]
		if wrong := compareObject(content, got); wrong != "" {
			t.Errorf("%s: %s", name(o), wrong)
		}
		delete(there, name(o))
	}
	for other := range there {
		t.Errorf("%s is there, and not in the plan", other)
	}
	if len(want) < 100 {
		t.Errorf("there are only %d objects to compare", len(want))
	}
}

func list(t *testing.T, client dynamic.Interface, apiVersion, kind, namespace string) []unstructured.Unstructured {
	t.Helper()
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		t.Fatal(err)
	}
	all, err := client.Resource(version.WithResource(resources[kind])).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}

// parts are what edits set, and what is compared. Kinds that don't have one have nothing there on both sides.
var parts = []string{
	"metadata/labels", "metadata/annotations", "metadata/finalizers", "spec/ports", "spec/selector", "spec/type", "spec/publishNotReadyAddresses",
	"spec/nodeName", "spec/hostname", "spec/subdomain", "spec/endpoints", "spec/routes", "spec/retryBudget", "spec/proxyProtocol", "spec/podSelector", "spec/port",
	"spec/workloadIPs", "spec/meshTLS",
	"status/phase", "status/podIP", "status/podIPs", "status/hostIP", "status/hostIPs", "status/conditions", "status/loadBalancer", "endpoints", "ports", "subsets",
}

// compareObject returns how an object differs from the plan.
func compareObject(want, got map[string]any) string {
	if got == nil {
		return "isn't there"
	}
	for _, part := range parts {
		path := strings.Split(part, "/")
		w, _, _ := unstructured.NestedFieldCopy(want, path...)
		g, _, _ := unstructured.NestedFieldCopy(got, path...)
		if w, g = plain(w), plain(g); !reflect.DeepEqual(w, g) {
			return fmt.Sprintf("%s (-want +got): %s", part, cmp.Diff(w, g))
		}
	}
	_, planned, _ := unstructured.NestedFieldNoCopy(want, "metadata", "deletionTimestamp")
	_, terminating, _ := unstructured.NestedFieldNoCopy(got, "metadata", "deletionTimestamp")
	if planned != terminating {
		return fmt.Sprintf("terminating: %t, want %t", terminating, planned)
	}
	return ""
}

// plain returns a value as JSON has it, without what is empty or a default.
func plain(value any) any {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var v any
	if err := json.Unmarshal(content, &v); err != nil {
		panic(err)
	}
	return withoutEmpty(v)
}

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if part = withoutEmpty(part); part == nil || key == "ipMode" || key == "observedGeneration" {
				delete(v, key)
			} else {
				v[key] = part
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// compareZone compares the zone with what the plan makes of its beginning, and the record with the edits.
func compareZone(t *testing.T, plan Plan, bind *bindtest.Server, recorder *history.Recorder, before time.Duration) {
	t.Helper()
	origin := plan.Settings().Zone
	want := map[string][]string{}
	parser := mdns.NewZoneParser(strings.NewReader("$TTL 300\n"+plan.ZoneRecords()+"\n"), origin, "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		addRecord(want, rr)
	}
	updates, made := 0, 0
	for _, e := range until(plan, before) {
		if e.Zone != nil {
			updates++
			made += applyUpdate(t, want, *e.Zone)
		}
	}
	got := transfer(t, bind, origin)
	for _, all := range []map[string][]string{want, got} {
		for key := range all {
			slices.Sort(all[key])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the zone (-want +got):\n%s", diff)
	}
	compareRecord(t, recorder.History(), origin, updates, made)
}

// compareRecord looks whether each update is in the history.
func compareRecord(t *testing.T, h history.History, origin string, updates, made int) {
	t.Helper()
	answered, succeeded := 0, 0
	for _, e := range h.Entries {
		w := e.Write
		if w == nil || w.Replica != Person || w.Update == nil || w.Update.Zone != origin || len(w.Update.Names) != 1 || !strings.HasSuffix(w.Update.Names[0], "."+origin) {
			t.Errorf("recorded %+v", e)
			continue
		}
		if w.Status >= 0 && w.Status != mdns.RcodeNotAuth && w.Status != mdns.RcodeServerFailure {
			answered++
			if w.Answered < e.At {
				t.Errorf("answered at %s, sent at %s", w.Answered, e.At)
			}
		}
		if w.Status == mdns.RcodeSuccess {
			succeeded++
		}
	}
	// The answer of an update may have been lost, and then the next attempt finds it made.
	if answered != updates || succeeded > made || made == 0 {
		t.Errorf("%d updates have an answer, %d of them a good one: want %d and %d", answered, succeeded, updates, made)
	}
}

func recordKey(rr mdns.RR) string {
	return rr.Header().Name + " " + mdns.TypeToString[rr.Header().Rrtype]
}

func addRecord(all map[string][]string, rr mdns.RR) {
	all[recordKey(rr)] = append(all[recordKey(rr)], strings.TrimPrefix(rr.String(), rr.Header().String()))
}

// applyUpdate does what a name server does by RFC 2136, and returns how many updates that were.
func applyUpdate(t *testing.T, zone map[string][]string, e ZoneEdit) int {
	t.Helper()
	fresh, err := e.records(e.New)
	if err != nil {
		t.Fatal(err)
	}
	old, err := e.records(e.Old)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]string{}
	for _, rr := range old {
		addRecord(before, rr)
	}
	set := e.Name + " " + e.Type
	named := func(key string) bool { return strings.HasPrefix(key, e.Name+" ") }
	holds := true
	switch e.Require {
	case Unused:
		for key := range zone {
			holds = holds && !named(key)
		}
	case Mine:
		slices.Sort(before[set])
		there := slices.Sorted(slices.Values(zone[set]))
		holds = len(there) > 0 && slices.Equal(before[set], there)
	case Beside:
		holds = len(zone[e.Name+" A"]) > 0 && len(zone[set]) == 0
	case Theirs:
		holds = len(zone[set]) > 0
	}
	if !holds {
		return 0
	}
	if (e.Require == Mine || e.Require == Theirs) && !e.Keep {
		delete(zone, set)
	}
	for _, rr := range fresh {
		addRecord(zone, rr)
	}
	return 1
}

// transfer returns the zone without SOA and NS.
func transfer(t *testing.T, bind *bindtest.Server, origin string) map[string][]string {
	t.Helper()
	query := new(mdns.Msg)
	query.SetAxfr(origin)
	query.SetTsig(personKey.Name+".", mdns.HmacSHA256, 300, time.Now().Unix())
	envelopes, err := (&mdns.Transfer{TsigSecret: map[string]string{personKey.Name + ".": personKey.Secret}}).In(query, bind.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for envelope := range envelopes {
		if envelope.Error != nil {
			t.Fatal(envelope.Error)
		}
		for _, rr := range envelope.RR {
			if kind := rr.Header().Rrtype; kind != mdns.TypeSOA && kind != mdns.TypeNS {
				addRecord(all, rr)
			}
		}
	}
	return all
}

// An edit that can never be made ends the play with an error that names it.
func TestPlayerFails(t *testing.T) {
	cluster := kubetest.Start(t)
	plan := mustNew(t, Settings{Seed: 1, Namespace: "play-fails"})
	p := newPlayer(t, plan, cluster.Config, netip.AddrPort{}, newRecorder(t), &meddler{})
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad := plan.Initial()[20]
	bad.Verb, bad.Fields = Set, []string{"/metadata/resourceVersion"}
	bad.Object = bad.Object.DeepCopyObject().(Object)
	bad.Object.SetResourceVersion("no version")
	if _, err := p.insist(t.Context(), bad, p.cluster.attempt); err == nil || !strings.Contains(err.Error(), "make edit 21 ") {
		t.Errorf("error %v", err)
	}
	stranger := plan.Initial()[20]
	stranger.Object = stranger.Object.DeepCopyObject().(Object)
	annotate(stranger.Object, createdBy, "somebody")
	if _, err := p.insist(t.Context(), stranger, p.cluster.attempt); err == nil || !strings.Contains(err.Error(), `an object of this name is there, made by edit "beginning-21"`) {
		t.Errorf("error %v", err)
	}
}

// When the context ends while a server is away, Play returns, and says which edit it had to leave.
func TestPlayerIsStopped(t *testing.T) {
	plan := mustNew(t, Settings{Seed: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &meddler{
		fail:    func(int64) string { return "lost before" },
		reached: func(n int64) { cancelAfter(n, 3, func() { cancel(errors.New("the lab ends")) }) },
	}
	p := newPlayer(t, plan, &rest.Config{Host: "https://127.0.0.1:1"}, netip.AddrPort{}, newRecorder(t), m)
	_, err := p.Play(ctx, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "make edit 1 ") || !strings.Contains(err.Error(), "the lab ends") {
		t.Errorf("error %v", err)
	}
}

func cancelAfter(n, last int64, cancel func()) {
	if n >= last {
		cancel()
	}
}

// A name server that isn't there, and one that refuses the key.
func TestZoneAnswers(t *testing.T) {
	plan := mustNew(t, Settings{Seed: 2})
	var first Edit
	for e := range plan.Edits() {
		if e.Zone != nil && e.Zone.Require == Unused {
			first = e
			break
		}
	}
	bind := startBIND(t, plan)
	wrong := &zone{name: plan.Settings().Zone, server: bind.Addr, recorder: newRecorder(t), key: Key{Name: "person", Algorithm: "hmac-sha256", Secret: "d3Jvbmd3cm9uZ3dyb25nd3Jvbmc="}}
	if became, err := wrong.attempt(t.Context(), first); became != again || err == nil {
		t.Errorf("with a wrong key: %s, %v", became, err)
	}
	nobody := &zone{name: plan.Settings().Zone, server: netip.MustParseAddrPort("127.0.0.1:1"), recorder: newRecorder(t), key: personKey}
	began := time.Now()
	if became, err := nobody.attempt(t.Context(), first); became != again || err == nil || time.Since(began) > answerTimeout {
		t.Errorf("nobody listens: %s, %v after %s", became, err, time.Since(began))
	}
	other := &zone{name: "nonesuch.example.", server: bind.Addr, recorder: newRecorder(t), key: personKey}
	if became, err := other.attempt(t.Context(), first); became == made || err == nil {
		t.Errorf("another zone: %s, %v", became, err)
	}
}
