package workload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var personKey = Key{Name: "person", Algorithm: "hmac-sha256", Secret: "cGVyc29ucGVyc29ucGVyc29ucGVyc29u"}

func startBIND(t *testing.T, p Plan) *bindtest.Server {
	t.Helper()
	name := strings.TrimSuffix(p.settings.Zone, ".")
	return bindtest.Serve(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: name, Key: personKey.Name, Records: p.ZoneRecords()}},
		Keys:  []bindtest.Key{{Name: personKey.Name, Algorithm: personKey.Algorithm, Secret: personKey.Secret}},
	})
}

// faultyTransport makes some requests fail, before they are sent or after the response, and counts all.
type faultyTransport struct {
	next     http.RoundTripper
	requests atomic.Int64
	fail     func(number int64) string
	reached  func(number int64)
}

func (m *faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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

func (m *faultyTransport) WrappedRoundTripper() http.RoundTripper { return m.next }

func answer(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}
}

func newPlayer(t *testing.T, plan Plan, api *rest.Config, server netip.AddrPort, recorder Recorder, m *faultyTransport) *Player {
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

// TestPlayer shows that objects and zone match the plan despite failing requests.
func TestPlayer(t *testing.T) {
	for name, fail := range map[string]func(int64) string{
		"undisturbed": nil,
		"refused":     every(5, "429", "503", "lost before"),
		"answer lost": every(4, "lost after", "500 after"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := kubetest.Start(t)
			// This seed has zone edits with each requirement in a short time.
			plan := mustNew(t, Settings{Seed: 84, Namespace: cluster.Namespace(t), Rate: 30})
			bind, recorder := startBIND(t, plan), historytest.NewRecorder(t)
			p := newPlayer(t, plan, cluster.Config, bind.Addr, recorder, &faultyTransport{fail: fail})
			played := play(t, p, 6*time.Second)
			if name == "undisturbed" && played.Repeated != 0 || name != "undisturbed" && played.Repeated < 20 {
				t.Errorf("played %+v", played)
			}
			compareObjects(t, plan, cluster, 6*time.Second)
			compareZone(t, plan, bind, recorder, 6*time.Second)
		})
	}
}

// every makes each nth request fail in one of several ways.
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

// TestPlayerFails shows that an impossible edit ends Play with an error that names it.
func TestPlayerFails(t *testing.T) {
	cluster := kubetest.Start(t)
	plan := mustNew(t, Settings{Seed: 1, Namespace: cluster.Namespace(t)})
	p := newPlayer(t, plan, cluster.Config, netip.AddrPort{}, historytest.NewRecorder(t), &faultyTransport{})
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	bad := plan.Initial()[8]
	bad.Verb, bad.Fields = Set, []string{"/spec/ports"}
	service := bad.Object.DeepCopyObject().(*corev1.Service)
	service.Spec.Ports[0].Port = 70000
	bad.Object = service
	if _, err := p.insist(t.Context(), bad, p.cluster.attempt); err == nil || !strings.Contains(err.Error(), "make edit 9 ") || !strings.Contains(err.Error(), "70000") {
		t.Errorf("error %v", err)
	}
	stranger := plan.Initial()[20]
	stranger.Object = stranger.Object.DeepCopyObject().(Object)
	annotate(stranger.Object, createdBy, "somebody")
	if _, err := p.insist(t.Context(), stranger, p.cluster.attempt); err == nil || !strings.Contains(err.Error(), `an object of this name is there, made by edit "beginning-21"`) {
		t.Errorf("error %v", err)
	}
}

// TestPlayerAfterARestore shows that after an etcd restore an edit that an older object doesn't allow is
// pointless, and that an older object in the place of a new one is deleted, despite finalizers.
func TestPlayerAfterARestore(t *testing.T) {
	cluster := kubetest.Start(t)
	plan := mustNew(t, Settings{Seed: 1, Namespace: cluster.Namespace(t)})
	p := newPlayer(t, plan, cluster.Config, netip.AddrPort{}, historytest.NewRecorder(t), &faultyTransport{})
	if err := p.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.EtcdRestored()
	bad := plan.Initial()[8]
	bad.Verb, bad.Fields = Set, []string{"/spec/ports"}
	service := bad.Object.DeepCopyObject().(*corev1.Service)
	service.Spec.Ports[0].Port = 70000
	bad.Object = service
	if played, err := p.insist(t.Context(), bad, p.cluster.attempt); err != nil || played.Pointless != 1 {
		t.Errorf("played %+v, %v", played, err)
	}
	newer := plan.Initial()[20]
	newer.Object = newer.Object.DeepCopyObject().(Object)
	resource := p.cluster.resource(newer.Object)
	finalizer := []byte(`{"metadata":{"finalizers":["lab.example/keep"]}}`)
	if _, err := resource.Patch(t.Context(), newer.Object.GetName(), types.MergePatchType, finalizer, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	annotate(newer.Object, createdBy, "newer")
	if played, err := p.insist(t.Context(), newer, p.cluster.attempt); err != nil || played.Made != 1 {
		t.Errorf("played %+v, %v", played, err)
	}
	if there, err := resource.Get(t.Context(), newer.Object.GetName(), metav1.GetOptions{}); err != nil || there.GetAnnotations()[createdBy] != "newer" {
		t.Errorf("got %v, %v", there, err)
	}
}

// TestPlayerIsStopped shows that Play returns, with the unfinished edit, if the context ends while a server
// is unreachable.
func TestPlayerIsStopped(t *testing.T) {
	plan := mustNew(t, Settings{Seed: 2})
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &faultyTransport{
		fail:    func(int64) string { return "lost before" },
		reached: func(n int64) { cancelAfter(n, 3, func() { cancel(errors.New("the lab ends")) }) },
	}
	p := newPlayer(t, plan, &rest.Config{Host: "https://127.0.0.1:1"}, netip.AddrPort{}, historytest.NewRecorder(t), m)
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

// TestPausedNameServer shows that a name server that was paused longer than fudge doesn't apply the message,
// and that the next attempt succeeds.
func TestPausedNameServer(t *testing.T) {
	plan := mustNew(t, Settings{Seed: 2})
	bind, recorder := startBIND(t, plan), historytest.NewRecorder(t)
	z := &zone{name: plan.settings.Zone, server: bind.Addr, recorder: recorder, key: personKey}
	e := Edit{Zone: &ZoneEdit{Name: "human-0.lab.example.", Type: "A", Require: Unused, New: []string{"192.0.2.1"}, TTL: 60}}
	if err := bind.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if became, err := z.attempt(t.Context(), e); became != retry {
		t.Errorf("while it is stopped: %s, %v", became, err)
	}
	if err := bind.Resume(); err != nil {
		t.Fatal(err)
	}
	if became, err := z.attempt(t.Context(), e); became != made {
		t.Errorf("afterwards: %s, %v", became, err)
	}
	if h := recorder.History(); len(h.Entries) != 2 || h.Entries[0].Write.Status != -1 || h.Entries[1].Write.Status != 0 {
		t.Errorf("recorded %+v", h.Entries)
	}
}

// TestZoneResponses covers an unreachable name server, and one that refuses the key.
func TestZoneResponses(t *testing.T) {
	plan := mustNew(t, Settings{Seed: 2})
	var first Edit
	for e := range plan.Edits() {
		if e.Zone != nil && e.Zone.Require == Unused {
			first = e
			break
		}
	}
	bind := startBIND(t, plan)
	wrong := &zone{name: plan.settings.Zone, server: bind.Addr, recorder: historytest.NewRecorder(t), key: Key{Name: "person", Algorithm: "hmac-sha256", Secret: "d3Jvbmd3cm9uZ3dyb25nd3Jvbmc="}}
	if became, err := wrong.attempt(t.Context(), first); became != retry || err == nil {
		t.Errorf("with a wrong key: %s, %v", became, err)
	}
	nobody := &zone{name: plan.settings.Zone, server: netip.MustParseAddrPort("127.0.0.1:1"), recorder: historytest.NewRecorder(t), key: personKey}
	began := time.Now()
	if became, err := nobody.attempt(t.Context(), first); became != retry || err == nil || time.Since(began) > responseTimeout {
		t.Errorf("nobody listens: %s, %v after %s", became, err, time.Since(began))
	}
	other := &zone{name: "nonesuch.example.", server: bind.Addr, recorder: historytest.NewRecorder(t), key: personKey}
	if became, err := other.attempt(t.Context(), first); became == made || err == nil {
		t.Errorf("another zone: %s, %v", became, err)
	}
}

// TestDue shows that an address is reused five seconds after its pod was really deleted, however late that
// was.
func TestDue(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	reuse := Edit{At: 20 * time.Second, After: 7, Gap: 5 * time.Second}
	for name, c := range map[string]struct {
		edit   Edit
		madeAt map[int]time.Time
		want   time.Time
	}{
		"alone":               {Edit{At: 20 * time.Second}, map[int]time.Time{7: at(30)}, at(20)},
		"deleted in time":     {reuse, map[int]time.Time{7: at(14)}, at(20)},
		"deleted late":        {reuse, map[int]time.Time{7: at(19)}, at(24)},
		"deleted much later":  {reuse, map[int]time.Time{7: at(40)}, at(45)},
		"another was deleted": {reuse, map[int]time.Time{8: at(40)}, at(20)},
	} {
		if got := c.edit.due(start, c.madeAt); !got.Equal(c.want) {
			t.Errorf("%s: due at %s, want %s", name, got, c.want)
		}
	}
}
