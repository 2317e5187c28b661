package httpapi

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/certfiles"
)

// What an SDK says of itself comes after what this program is, and the request isn't changed.
// The transport of the user sees what is sent.
func TestUserAgent(t *testing.T) {
	for sdk, want := range map[string]string{"": "signpost/dev (", "sdk/7": " dns sdk/7"} {
		got := ""
		c := client(t, false, Options{}, func(req *http.Request) (*http.Response, error) {
			got = req.Header.Get("User-Agent")
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
		})
		req := request(t, http.MethodGet, "/", nil)
		if sdk != "" {
			req.Header.Set("User-Agent", sdk)
		}
		if err := Do(c, req, func(*http.Response) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got, "signpost/dev (") || !strings.Contains(got, want) || req.Header.Get("User-Agent") != sdk {
			t.Errorf("User-Agent %q, and %q in the request; want %q in it", got, req.Header.Get("User-Agent"), want)
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestLimits(t *testing.T) {
	response := io.Reader(nil)
	sent := 0
	c := client(t, false, Options{MaxRequest: 10, MaxResponse: 10}, func(req *http.Request) (*http.Response, error) {
		sent++
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(response), Request: req}, nil
	})
	post := func(text string) error {
		response = strings.NewReader("{}")
		return Do(c, request(t, http.MethodPost, "/", text), func(*http.Response) error { return nil })
	}
	if err := post("01234567"); err != nil || sent != 1 {
		t.Errorf("a body of the greatest size: %v, sent %d", err, sent)
	}
	err := post("012345678")
	if !errors.Is(err, ErrTooLarge) || !errors.Is(err, provider.ErrRejected) || Passing(err) || sent != 1 {
		t.Errorf("a body with one byte more: %v, sent %d", err, sent)
	}
	stream := request(t, http.MethodPost, "/", nil)
	stream.Body, stream.ContentLength = io.NopCloser(endless{}), -1
	if _, err := c.Do(stream); !errors.Is(err, ErrTooLarge) || errors.Is(err, provider.ErrRejected) || Passing(err) {
		t.Errorf("a body without an end: %v, want one that isn't rejected, since a part was sent", err)
	}
	for text, want := range map[string]error{`"12345678"`: nil, `"12345678" `: ErrTooLarge, `"123456789"`: ErrTooLarge} {
		response = strings.NewReader(text)
		got := ""
		err := Do(c, request(t, http.MethodGet, "/", nil), func(resp *http.Response) error { return Decode(resp.Body, &got) })
		if !errors.Is(err, want) || want == nil && got != "12345678" || Passing(err) {
			t.Errorf("answer %s: %q, %v; want %v", text, got, err, want)
		}
	}
	response = endless{}
	if err := Do(c, request(t, http.MethodGet, "/", nil), func(resp *http.Response) error { return Decode(resp.Body, new(string)) }); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an answer without an end: %v", err)
	}
}

func TestNoLimits(t *testing.T) {
	for limit, fails := range map[int64]bool{-1: false, 0: true} {
		c := client(t, false, Options{MaxResponse: limit, MaxDecoded: -1}, func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(io.LimitReader(endless{}, defaultLimit+1)), Request: req}, nil
		})
		err := Do(c, request(t, http.MethodGet, "/", nil), func(resp *http.Response) error {
			_, err := io.Copy(io.Discard, resp.Body)
			return err
		})
		if errors.Is(err, ErrTooLarge) != fails {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// What an answer needs decoded is limited, too: 33 MB of empty elements would need 50 times as much
// (tenants S9). A page as services send it is far from the limit.
func TestDecodedSize(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "plain": 5, "{},": 3 + 2*structureSize, `["a","b"]`: 9 + 2*structureSize, "<a/>": 4 + structureSize} {
		if n := DecodedSize([]byte(text)); n != want {
			t.Errorf("%q needs %d bytes, want %d", text, n, want)
		}
	}
	for text, fails := range map[string]bool{
		strings.Repeat("{},", 33<<20/3): true, strings.Repeat("<a/>", 33<<20/4): true,
		strings.Repeat(`{"id":"372e67954025e0ba6aaa6d586b9e0b59","name":"www.example.org","type":"A","content":"192.0.2.1","proxiable":true,"proxied":false,"ttl":300,"meta":{},"comment":null,"tags":[],"created_on":"2026-01-01T05:20:00.12345Z","modified_on":"2026-01-01T05:20:00.12345Z"},`, 5000): false,
	} {
		c := client(t, false, Options{}, func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
		})
		err := Do(c, request(t, http.MethodGet, "/", nil), func(resp *http.Response) error {
			_, err := io.Copy(io.Discard, resp.Body)
			return err
		})
		if errors.Is(err, ErrTooLarge) != fails || fails != (TooLarge(err) != nil) {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

func TestDecode(t *testing.T) {
	for text, fails := range map[string]bool{`{"a":1}`: false, " {} \n": false, `{"a":1} {}`: true, `{}]`: true, `{`: true, ``: true, `[]`: true} {
		if err := Decode(strings.NewReader(text), &map[string]int{}); (err != nil) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The client trusts the authority of --tls-ca (D16), and no other; SkipTLSVerify trusts all.
func TestTLSFilesOfClient(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	file := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	same := func(rt http.RoundTripper) http.RoundTripper { return rt }
	get := func(files certfiles.ClientFiles, o Options) error {
		c, err := NewClient(t.Context(), provider.Input{Wrap: same, TLS: files}, o)
		if err != nil {
			return err
		}
		defer c.CloseIdleConnections()
		target, err := url.Parse(server.URL)
		if err != nil {
			return err
		}
		req, err := NewRequest(t.Context(), http.MethodGet, target, nil, "")
		if err != nil {
			return err
		}
		return Do(c, req, func(*http.Response) error { return nil })
	}
	if err := get(certfiles.ClientFiles{}, Options{}); err == nil {
		t.Errorf("an unknown authority: %v", err)
	}
	if err := get(certfiles.ClientFiles{CA: file}, Options{}); err != nil {
		t.Errorf("--tls-ca: %v", err)
	}
	if err := get(certfiles.ClientFiles{}, Options{SkipTLSVerify: true}); err != nil {
		t.Errorf("without verification: %v", err)
	}
	if err := get(certfiles.ClientFiles{CA: "missing"}, Options{}); err == nil || !strings.Contains(err.Error(), "--tls-ca") {
		t.Errorf("a missing file: %v", err)
	}
}

// viaProxy is set in the process that TestProxy starts. Go reads the variables of proxies once
// in a process.
const viaProxy = "SIGNPOST_TEST_VIA_PROXY"

func TestProxy(t *testing.T) {
	if os.Getenv(viaProxy) != "" {
		same := func(rt http.RoundTripper) http.RoundTripper { return rt }
		c, err := NewClient(t.Context(), provider.Input{Wrap: same}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Do(c, request(t, http.MethodGet, "/zones", nil), func(*http.Response) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return
	}
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { asked <- req.URL.String() }))
	t.Cleanup(proxy.Close)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$")
	child.Env = append(os.Environ(), viaProxy+"=1", "HTTP_PROXY="+proxy.URL, "http_proxy=", "NO_PROXY=", "no_proxy=")
	if text, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if got := <-asked; got != "http://api.test/zones" {
		t.Errorf("the proxy was asked for %q", got)
	}
}
