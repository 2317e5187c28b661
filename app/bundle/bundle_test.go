package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/bundle"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// planted are secrets that processes and pods have in all the places where there may be some.
var planted = map[string]string{
	"argument":          "argsecretvalue",
	"argument of two":   "twopartvalue99",
	"argument of words": "horsebatterystaple",
	"variable":          "envsecretvalue",
	"short variable":    "zq9x",
	"variable by name":  "sk-live-1234567",
	"a JSON web token":  "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl",
	"a bearer token":    "abcdef0123456789abcdef",
	"a password in log": "hunter2hunter2",
	"a private key":     "MIIEvQIBADANBgkq",
	"a key of AWS":      "AKIAIOSFODNN7EXAMPLE",
	"in a URL":          "urlpassw0rd",
	"in JSON":           "jsonpassword77",
	"in an annotation":  "annotatedsecret",
	"behind signs":      "tailofasecret",
}

func text(t *testing.T, body string) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

// source has a process whose answers, and a pod whose fields, have secrets.
func source(t *testing.T) bundle.Source {
	t.Helper()
	s := planted
	process := &inspecttest.Process{
		Status:  &inspect.Status{Roles: []string{"destination", "dns"}, Details: []string{"login failed: password=" + s["a password in log"]}},
		Streams: []inspect.Stream{{ID: "1", Target: "web.shop:80"}}, Services: []inspect.Service{}, Records: []inspect.Record{{Name: "a", Message: `refused: x&<"` + s["behind signs"]}}, Plans: []inspect.Plan{},
		Problems: []inspect.Problem{{Object: inspect.ObjectRef{Kind: "Service", Name: "x"}, Value: "https://me:" + s["in a URL"] + "@example.org/", Reason: "Authorization: Bearer " + s["a bearer token"]}},
		Paths: map[string]http.Handler{
			"/metrics":         text(t, "answer 42\n# "+s["argument"]+"\n"),
			"/ready":           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not ready\npod: waiting", 500) }),
			inspect.ConfigPath: text(t, `{"dns":{"publishers":[{"pdnsApiKey":"`+s["in JSON"]+`","api-key": "`+s["in JSON"]+`","x":"`+s["variable"]+` `+s["a key of AWS"]+`"}]}}`),
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "signpost-0", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": s["in an annotation"]}},
		Spec: corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debug", Env: []corev1.EnvVar{{Name: "PIN", Value: s["short variable"]}},
		}}}, Containers: []corev1.Container{{
			Name: "signpost", Args: []string{"dns", "--pdns-api-key=" + s["argument"], "--rfc2136-tsig-secret", s["argument of two"], "--policy=sync", "--note=" + s["a JSON web token"], "--txt-encrypt-aes-key", s["argument of words"] + " is the first of more words than a line of YAML may have: it is folded"},
			Env: []corev1.EnvVar{{Name: "EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY", Value: s["variable"]}, {Name: "PIN", Value: s["short variable"]}, {Name: "STRIPE_API_KEY", Value: s["variable by name"]}, {Name: "SIGNS", Value: `x&<"` + s["behind signs"]}, {Name: "NOTE", Value: "-----BEGIN EC PRIVATE KEY-----\n" + s["a private key"] + "\n-----END EC PRIVATE KEY-----"}},
		}}},
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "signpost-dns"}}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "e"}, Message: "can't log in with " + s["argument of two"]}
	addr := process.Start(t)
	found := &portforward.Found{Processes: []portforward.Process{{Name: "../../signpost-0", Addr: addr, Pod: pod}}}
	return bundle.Source{
		Client: inspectclient.New(found, 10*time.Second, io.Discard), API: fake.NewClientset(pod, lease, event), Pods: []*corev1.Pod{pod},
		Secrets: []string{"pdns-api-key", "rfc2136-tsig-secret", "txt-encrypt-aes-key"}, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// unpacked returns the files of a bundle.
func unpacked(t *testing.T, packed io.Reader) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

// The bundle has what is needed, and no secret, wherever it was.
func TestNoSecrets(t *testing.T) {
	var packed bytes.Buffer
	summary, err := bundle.Write(t.Context(), &packed, source(t))
	if err != nil {
		t.Fatal(err)
	}
	files := unpacked(t, &packed)
	for name, text := range files {
		for where, secret := range planted {
			if strings.Contains(text, secret) {
				t.Errorf("%s has the secret of %s:\n%s", name, where, text)
			}
		}
		if !strings.HasPrefix(name, "signpost-bundle/") || strings.Contains(name, "..") {
			t.Errorf("the name %q leads elsewhere", name)
		}
	}
	for name, has := range map[string]string{
		"streams.json": `"target": "web.shop:80"`, "services.json": "services", "records.json": "records", "problems.json": "https://***@", "plans.json": "plans",
		"processes/_/_/signpost-0/ready.txt": "not ready\npod: waiting", "processes/_/_/signpost-0/metrics.txt": "answer 42", "processes/_/_/signpost-0/config.json": "***", "processes/_/_/signpost-0/status.json": "login failed",
		"pods/dns/signpost-0/pod.yaml": "--policy=sync", "pods/dns/signpost-0/signpost.log": "fake logs", "namespaces/dns/leases.yaml": "signpost-dns", "namespaces/dns/events.yaml": "can't log in with ***",
	} {
		if !strings.Contains(files["signpost-bundle/"+name], has) {
			t.Errorf("%s has no %q:\n%s", name, has, files["signpost-bundle/"+name])
		}
	}
	if len(summary.Errors) > 0 || !slices.Contains(summary.Files, "errors.txt") {
		t.Errorf("errors %q", summary.Errors)
	}
}

// Of a long log the newest lines are kept. A kubelet that is asked for the last lines and for a
// limit of bytes returns the beginning of these lines.
func TestNewestLinesOfLog(t *testing.T) {
	lines := strings.Repeat(strings.Repeat("!", 399)+"\n", 12000) + "the newest line\n"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			http.NotFound(w, r)
			return
		}
		text := lines
		if limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes")); err == nil {
			text = text[:min(len(text), limit)]
		}
		_, _ = io.WriteString(w, text)
	}))
	defer api.Close()
	s := source(t)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.API = client
	var packed bytes.Buffer
	summary, err := bundle.Write(t.Context(), &packed, s)
	if err != nil {
		t.Fatal(err)
	}
	text := unpacked(t, &packed)["signpost-bundle/pods/dns/signpost-0/signpost.log"]
	if !strings.HasSuffix(text, "\nthe newest line\n") || len(text) > 4<<20 || strings.Index(text, "\n") != 399 {
		t.Errorf("the log has %d bytes, and ends with %q", len(text), text[max(0, len(text)-40):])
	}
	if !slices.ContainsFunc(summary.Errors, func(e string) bool { return strings.Contains(e, "signpost.log: only the last") }) {
		t.Errorf("errors %q", summary.Errors)
	}
}

// A process that says too much doesn't make the file large, and one that says nothing doesn't end it.
func TestLimits(t *testing.T) {
	line := strings.Repeat("x", 1023) + "\n"
	endless := &inspecttest.Process{Status: &inspect.Status{Roles: []string{"dns"}}, Paths: map[string]http.Handler{"/metrics": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 17 << 10 {
			_, _ = io.WriteString(w, line)
		}
	})}}
	found := &portforward.Found{Processes: []portforward.Process{{Name: "p", Addr: endless.Start(t)}}}
	var packed bytes.Buffer
	summary, err := bundle.Write(t.Context(), &packed, bundle.Source{Client: inspectclient.New(found, time.Minute, io.Discard)})
	if err != nil || packed.Len() > 1<<20 || !slices.ContainsFunc(summary.Errors, func(e string) bool { return strings.Contains(e, "longer than 16 MB") }) {
		t.Errorf("%v, %d bytes, errors %q", err, packed.Len(), summary.Errors)
	}
	found = &portforward.Found{Processes: []portforward.Process{{Name: "p", Addr: "127.0.0.1:1"}}}
	if _, err := bundle.Write(t.Context(), io.Discard, bundle.Source{Client: inspectclient.New(found, time.Second, io.Discard)}); err == nil || !strings.Contains(err.Error(), "nothing could be collected") {
		t.Errorf("nobody listens: %v", err)
	}
}
