// Package webui is the web page of a process, at / of its admin server. The page shows the data of
// the inspection API; docs/page.md describes it.
//
// The page is static: index.html, a style and some modules of JavaScript, written by hand and
// embedded. The page sends requests only to the process that serves it. Names, annotations and
// records are untrusted. So the Content-Security-Policy allows these files only, and the scripts
// insert untrusted text as text only.
//
// Package process serves [Handlers] behind the guard of the inspection API.
//
// # Concurrency
//
// The files are read when the handlers are made, and don't change. Handlers are called from any
// goroutine.
package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var files embed.FS

// dir is the folder of the files in the binary. Assets is the path at which they are served, except
// for the page itself, which is at /.
const (
	dir    = "assets"
	Assets = "/assets/"
)

// kinds are the media types of the files. The types of package mime depend on files of the host.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// policy is the Content-Security-Policy of the page: the page may load its own files and send
// requests to its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

type file struct {
	kind, tag string
	text      []byte
}

// Handlers returns the handlers of the page, by patterns of [http.ServeMux]. guard authorises
// requests; in a process it is [inspect.Server.Guard].
//
// [inspect.Server.Guard]: https://pkg.go.dev/github.com/signpostd/signpost/app/inspect#Server.Guard
func Handlers(guard func(http.Handler) http.Handler) (map[string]http.Handler, error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the files of the page: %w", err)
	}
	served := map[string]file{}
	for _, entry := range entries {
		f, err := load(entry.Name())
		if err != nil {
			return nil, err
		}
		if entry.Name() == "index.html" {
			served["/"] = f
			continue
		}
		served[Assets+entry.Name()] = f
	}
	handler := guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, served) }))
	return map[string]http.Handler{"/{$}": handler, Assets: handler}, nil
}

func load(name string) (file, error) {
	text, err := files.ReadFile(dir + "/" + name)
	if err != nil {
		return file{}, fmt.Errorf("read the files of the page: %w", err)
	}
	kind := kinds[path.Ext(name)]
	if kind == "" {
		return file{}, fmt.Errorf("read the files of the page: %s is of no known type", name)
	}
	sum := sha256.Sum256(text)
	return file{kind: kind, tag: `"` + hex.EncodeToString(sum[:16]) + `"`, text: text}, nil
}

func serve(w http.ResponseWriter, r *http.Request, served map[string]file) {
	headers(w.Header())
	f, ok := served[r.URL.Path]
	switch {
	case !ok:
		http.Error(w, "there is no such file of the page: it is at /", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are allowed here", http.StatusMethodNotAllowed)
		return
	}
	// A browser revalidates its copy for each request, because the version may have changed.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", f.tag)
	w.Header().Set("Content-Type", f.kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.text))
}

func headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
