package webui_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/webui"
)

func handler(t *testing.T) http.Handler {
	t.Helper()
	handlers, err := webui.Handlers(inspect.New(inspect.Config{}).Guard)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for pattern, h := range handlers {
		mux.Handle(pattern, h)
	}
	return mux
}

// request is one of a browser on this host.
func request(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Host, r.RemoteAddr = "localhost:9996", "127.0.0.1:40000"
	return r
}

func TestFiles(t *testing.T) {
	h := handler(t)
	for path, want := range map[string]struct {
		kind, part string
	}{
		"/":                 {"text/html; charset=utf-8", "<title>Signpost</title>"},
		"/assets/app.js":    {"text/javascript; charset=utf-8", "import"},
		"/assets/style.css": {"text/css; charset=utf-8", "prefers-color-scheme"},
		"/assets/icon.svg":  {"image/svg+xml", "<svg"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(http.MethodGet, path))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want.kind || !strings.Contains(w.Body.String(), want.part) {
			t.Errorf("%s: %d, %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		checkHeaders(t, path, w.Header())
		if w.Header().Get("Cache-Control") != "no-cache" || len(w.Header().Get("ETag")) != 34 {
			t.Errorf("%s: Cache-Control %q, ETag %q", path, w.Header().Get("Cache-Control"), w.Header().Get("ETag"))
		}
		again := request(http.MethodGet, path)
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		h.ServeHTTP(w, again)
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
			t.Errorf("%s again: %d with %d bytes, want 304", path, w.Code, w.Body.Len())
		}
	}
}

// checkHeaders checks the headers that isolate the page.
func checkHeaders(t *testing.T, path string, h http.Header) {
	t.Helper()
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s: the policy lacks %s: %s", path, part, policy)
		}
	}
	if regexp.MustCompile(`unsafe|\*|https?:|data:`).MatchString(policy) {
		t.Errorf("%s: the policy allows too much: %s", path, policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), want)
		}
	}
}

func TestOthers(t *testing.T) {
	h := handler(t)
	for name, tt := range map[string]struct {
		change func(*http.Request)
		method string
		path   string
		code   int
	}{
		"another file":       {path: "/assets/secret", code: 404},
		"the directory":      {path: "/assets/", code: 404},
		"index by its name":  {path: "/assets/index.html", code: 404},
		"another path":       {path: "/other", code: 404},
		"POST":               {method: http.MethodPost, path: "/", change: func(r *http.Request) { *r = *r.WithContext(inspect.WithSameUser(r.Context())) }, code: 405},
		"POST, no token":     {method: http.MethodPost, path: "/", code: 403},
		"HEAD":               {method: http.MethodHead, path: "/", code: 200},
		"another host":       {path: "/", change: func(r *http.Request) { r.RemoteAddr = "10.0.0.1:1" }, code: 403},
		"another name":       {path: "/", change: func(r *http.Request) { r.Host = "rebound.example" }, code: 403},
		"a page of another":  {path: "/", change: func(r *http.Request) { r.Header.Set("Origin", "http://localhost:1") }, code: 403},
		"a frame of another": {path: "/assets/app.js", change: func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, code: 403},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.method == "" {
				tt.method = http.MethodGet
			}
			r := request(tt.method, tt.path)
			if tt.change != nil {
				tt.change(r)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.code {
				t.Errorf("%d, want %d", w.Code, tt.code)
			}
		})
	}
}

// Each module is preloaded with the page, so that rows are shown earlier.
func TestModulesArePreloaded(t *testing.T) {
	index, err := os.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob("assets/*.js")
	if err != nil || len(modules) < 5 {
		t.Fatalf("%v, %v", modules, err)
	}
	for _, module := range modules {
		if name := filepath.Base(module); name != "app.js" && name != "first.js" && !strings.Contains(string(index), `<link rel="modulepreload" href="/assets/`+name+`">`) {
			t.Errorf("index.html doesn't preload %s", name)
		}
	}
}

// The scripts use no function through which untrusted text becomes markup, a script or an address.
var markup = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|createContextualFragment|DOMParser|parseFromString|setHTML|srcdoc|\beval\b|new Function|` +
	`\.src\b|\.href\b|setTimeout\(["'` + "`" + `]|import\(|https?://|\.style\b|setAttribute\("(on|src|href|style)`)

// All scripts are modules beside the page, and nothing in the page is a script or a style.
func TestNoMarkupOfOthers(t *testing.T) {
	names, err := filepath.Glob("assets/*")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		switch filepath.Ext(name) {
		case ".js":
			for _, found := range markup.FindAllString(string(text), -1) {
				t.Errorf("%s has %s", name, found)
			}
		case ".html":
			if found := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script[^>]*>[^<]|https?://`).FindString(string(text)); found != "" {
				t.Errorf("%s has %s", name, found)
			}
		case ".css":
			if found := regexp.MustCompile(`(?i)@import|url\(`).FindString(string(text)); found != "" {
				t.Errorf("%s has %s", name, found)
			}
		}
	}
}
