package writeclient

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// made is the body of a response to a write.
const made = `{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","metadata":{"uid":"u","resourceVersion":"1"}}`

// headerServer is an API server that records the headers of requests.
type headerServer struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

// listen starts a server that handles all requests with one handler.
func listen(t *testing.T, answer http.HandlerFunc) *headerServer {
	h := &headerServer{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h.mu.Lock()
		h.headers = append(h.headers, r.Header.Clone())
		h.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func accept(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, made)
}

// got returns a header of each request, and forgets the requests.
func (h *headerServer) got(name string) (values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, header := range h.headers {
		values = append(values, header.Get(name))
	}
	h.headers = nil
	return values
}

// clientOf makes a client as the command does, from an *http.Client.
func clientOf(t *testing.T, h *headerServer, config rest.Config) *kubernetes.Clientset {
	t.Helper()
	config.Host, config.Insecure = h.URL, true
	httpClient, err := rest.HTTPClientFor(&config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(&config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func update(t *testing.T, client *kubernetes.Clientset) error {
	t.Helper()
	_, err := Slices(client.DiscoveryV1()).EndpointSlices("ns").Update(t.Context(), slice("ns"), metav1.UpdateOptions{})
	return err
}

// plugin prints a token with the number of the call. The token has expired already.
const plugin = `#!/bin/sh
n=$(cat "$1" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$1"
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"token-$n\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\"}}"
`

// Each write gets the current token of client-go's exec plugin. All writes shared one header, so that the
// first token was sent for ever, and writes were refused once it had expired.
func TestExecPlugin(t *testing.T) {
	h := listen(t, accept)
	dir := t.TempDir()
	script := filepath.Join(dir, "plugin.sh")
	if err := os.WriteFile(script, []byte(plugin), 0o755); err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, h, rest.Config{ExecProvider: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: script, Args: []string{filepath.Join(dir, "n")}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}})
	for range 3 {
		if err := update(t, client); err != nil {
			t.Fatal(err)
		}
	}
	got := h.got("Authorization")
	if want := []string{"Bearer token-1", "Bearer token-2", "Bearer token-3"}; !slices.Equal(got, want) {
		t.Errorf("tokens %q, want %q", got, want)
	}
}

// Each write has the headers that client-go sets on a request, and none of another write.
func TestGuaranteesOfClientGo(t *testing.T) {
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("from-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := 0
	mutating := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if seen := r.Header.Get("X-Trace"); seen != "" {
				return nil, fmt.Errorf("the header of another request is seen: %s", seen)
			}
			count++
			r.Header.Set("X-Trace", strconv.Itoa(count))
			return next.RoundTrip(r)
		})
	}
	for name, test := range map[string]struct {
		config rest.Config
		header string
		want   []string
	}{
		"token":         {rest.Config{BearerToken: "t"}, "Authorization", []string{"Bearer t", "Bearer t"}},
		"token file":    {rest.Config{BearerTokenFile: tokenFile}, "Authorization", []string{"Bearer from-file", "Bearer from-file"}},
		"password":      {rest.Config{Username: "u", Password: "p"}, "Authorization", []string{"Basic dTpw", "Basic dTpw"}},
		"impersonation": {rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "somebody"}}, "Impersonate-User", []string{"somebody", "somebody"}},
		"user agent":    {rest.Config{UserAgent: "signpost/1"}, "User-Agent", []string{"signpost/1", "signpost/1"}},
		"wrapper":       {rest.Config{WrapTransport: mutating}, "X-Trace", []string{"1", "2"}},
		"content type": {
			rest.Config{ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}},
			"Content-Type",
			[]string{runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := listen(t, accept)
			client := clientOf(t, h, test.config)
			for range 2 {
				if err := update(t, client); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.got(test.header); !slices.Equal(got, test.want) {
				t.Errorf("%s %q, want %q", test.header, got, test.want)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A token file is read again after the kubelet has rotated it.
func TestTokenFileRotates(t *testing.T) {
	tokenFile := filepath.Join(t.TempDir(), "token")
	var tokens []string
	synctest.Test(t, func(t *testing.T) {
		config := rest.Config{Host: "http://api.test", BearerTokenFile: tokenFile, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			tokens = append(tokens, r.Header.Get("Authorization"))
			answer := httptest.NewRecorder()
			accept(answer, r)
			return answer.Result(), nil
		})}
		rotate := func(token string) {
			if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		rotate("first")
		client, err := kubernetes.NewForConfig(&config)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"first", "second"} {
			rotate(token)
			time.Sleep(2 * time.Minute) // client-go reads the file once a minute
			if err := update(t, client); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !slices.Equal(tokens, []string{"Bearer first", "Bearer second"}) {
		t.Errorf("tokens %q", tokens)
	}
}

// A write is sent once, because the loop of the controller retries after the delay that the API server asks
// for. Retries by client-go would multiply with those.
func TestNoRetries(t *testing.T) {
	h := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	err := update(t, clientOf(t, h, rest.Config{}))
	if after, ok := apierrors.SuggestsClientDelay(err); after != 1 || !ok || !apierrors.IsTooManyRequests(err) {
		t.Errorf("%v, to be retried after %d s", err, after)
	}
	if n := len(h.got("Accept")); n != 1 {
		t.Errorf("the write was sent %d times", n)
	}
}

// A proxy in the kubeconfig gets the requests.
func TestProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "api.test" {
			t.Errorf("the proxy is asked for %s", r.URL)
		}
		accept(w, r)
	}))
	t.Cleanup(proxy.Close)
	config := rest.Config{Host: "http://api.test", Proxy: func(*http.Request) (u *url.URL, err error) { return url.Parse(proxy.URL) }}
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	if err := update(t, client); err != nil {
		t.Error(err)
	}
}
