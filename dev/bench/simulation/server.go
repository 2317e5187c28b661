// Package simulation has an API server with a large cluster that is computed, not stored.
//
// It serves what a destination server reads, as a real one does: TLS, HTTP/2, lists and streaming
// lists in protobuf, watches with bookmarks (server.go, encode.go). Objects are made of the
// manifests in the directory objects and of their number (objects.go), and only changes have a
// state (state.go). Cluster starts the server as a process, and makes changes.
package simulation

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The resources of a simulated cluster that have objects.
const (
	podResource        = "pods"
	sliceResource      = "endpointslices"
	serviceResource    = "services"
	nodeResource       = "nodes"
	replicaSetResource = "replicasets"
)

// bookmarkEach is how often a watch gets a bookmark, as from a real API server.
const bookmarkEach = time.Minute

// Serve serves a simulated cluster as an API server does: with TLS and HTTP/2,
// streaming lists, watches that end, and bookmarks. It writes a kubeconfig to the directory.
func Serve(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("apiserver", flag.ExitOnError)
	dir := fs.String("dir", ".", "directory for the kubeconfig")
	services := fs.Int("services", 1000, "number of Services")
	pods := fs.Int("pods", 10, "number of pods of each Service")
	lists := fs.Bool("lists", false, "refuse streaming lists, as API servers do that don't know them")
	if err := fs.Parse(args); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &apiServer{clusterState: newClusterState(Size{*services, *pods}), listsOnly: *lists}
	identity, err := newIdentity()
	if err != nil {
		return err
	}
	h := &http.Server{Handler: s, TLSConfig: identity.config(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = h.Close() })
	if err := writeAtomically(filepath.Join(*dir, "kubeconfig"), identity.kubeconfig(l.Addr().String())); err != nil {
		return err
	}
	err = h.ServeTLS(l, "", "")
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// writeAtomically writes a file that is complete as soon as it is there.
func writeAtomically(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// apiServer answers the requests for a simulation.
type apiServer struct {
	*clusterState
	// listsOnly is true if the server doesn't know streaming lists.
	listsOnly bool
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, ok := CollectionAt(r.URL.Path)
	var err error
	switch {
	case r.URL.Path == "/bench/changes":
		err = s.change(r)
	case r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch:
		// Leases and Events: whoever writes them gets them back as they are.
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, err = io.Copy(w, r.Body)
	case !ok || r.Method != http.MethodGet:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.URL.Query().Get("watch") != "":
		err = s.watch(w, r, resource)
	default:
		err = s.list(w, r, resource)
	}
	if err != nil && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// refuse answers with a metav1.Status.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
	})
}

func (s *apiServer) change(r *http.Request) error {
	var c Changes
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		return fmt.Errorf("read the changes: %w", err)
	}
	return s.apply(c)
}

// collection is what a request is for.
type collection struct {
	schema.GroupVersionResource
	// namespaced is true for the objects of one namespace, of which there are none: those who
	// measure read all namespaces.
	namespaced bool
}

// CollectionAt reads a path such as /api/v1/pods or /apis/discovery.k8s.io/v1/endpointslices, also
// below a namespace.
func CollectionAt(path string) (c collection, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		c.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		c.Group, c.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return c, false
	}
	if len(parts) == 3 && parts[0] == "namespaces" {
		c.namespaced, parts = true, parts[2:]
	}
	c.Resource = parts[0]
	return c, len(parts) == 1
}

// objects are those of a collection, in the form that a client asks for.
type objects struct {
	kind  runtime.TypeMeta
	count int
	at    func(int, Edited) message
}

// objectsOf returns the objects of a collection, for an Accept header.
func objectsOf(g *generator, c collection, accept string) objects {
	o := objects{kind: runtime.TypeMeta{APIVersion: c.GroupVersion().String(), Kind: simulatedKinds[c.Resource]}}
	switch c.Resource {
	case podResource:
		o.count, o.at = g.PodCount(), func(i int, e Edited) message { return g.PodAt(i, e) }
	case sliceResource:
		o.count, o.at = g.Services, func(i int, e Edited) message { return g.SliceAt(i, e) }
	case serviceResource:
		o.count, o.at = g.Services, func(i int, e Edited) message { return g.ServiceAt(i, e) }
	case nodeResource:
		o.count, o.at = g.NodeCount(), func(i int, e Edited) message { return g.NodeAt(i, e) }
	case replicaSetResource:
		o.count, o.at = g.Services*replicaSetsPerService, func(i int, e Edited) message { return g.replicaSetAt(i, e) }
	}
	if c.namespaced {
		o.count = 0
	}
	if strings.Contains(accept, ";as=PartialObjectMetadata") {
		o.kind = runtime.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
		whole := o.at
		o.at = func(i int, e Edited) message { return metadataOf(whole(i, e)) }
	}
	return o
}

// simulatedKinds are the kinds of the resources that are served; there may be no objects of them.
var simulatedKinds = map[string]string{
	podResource: "Pod", sliceResource: "EndpointSlice", serviceResource: "Service", nodeResource: "Node", replicaSetResource: "ReplicaSet",
	"jobs": "Job", "secrets": "Secret", "serviceprofiles": "ServiceProfile", "servers": "Server", "externalworkloads": "ExternalWorkload",
}

// metadataOf returns an object without anything but its metadata.
func metadataOf(object message) message {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err) // all that are generated have metadata
	}
	switch m := accessor.(type) {
	case *metav1.ObjectMeta:
		return &metav1.PartialObjectMetadata{ObjectMeta: *m}
	case metav1.ObjectMetaAccessor:
		return &metav1.PartialObjectMetadata{ObjectMeta: *m.GetObjectMeta().(*metav1.ObjectMeta)}
	default:
		panic(fmt.Sprintf("%T has no metadata", object))
	}
}

// watch streams the objects that exist, if the client asks for them, and then changes and
// bookmarks.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, resource collection) error {
	query := r.URL.Query()
	initial := query.Get("sendInitialEvents") == "true"
	if initial && s.listsOnly {
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		return nil
	}
	limit := time.Hour
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		limit = time.Duration(seconds) * time.Second
	}
	after, _ := strconv.Atoi(query.Get("resourceVersion"))
	if initial {
		after = s.now()
	}
	watch, version := s.clusterState.watch(resource.Resource, after)
	defer s.unwatch(watch)
	out := newEventWriter(w, r, resource, s)
	if initial {
		if err := out.initial(version); err != nil {
			return err
		}
	}
	return out.follow(r.Context(), watch, limit)
}

// preferred returns the first media type of an Accept header.
func preferred(accept string) string {
	first, _, _ := strings.Cut(accept, ",")
	first, _, _ = strings.Cut(first, ";")
	return first
}

// eventWriter writes the events of one watch.
type eventWriter struct {
	server   *apiServer
	resource collection
	objects
	json bool

	out    *bufio.Writer
	flush  func() error
	buffer []byte
}

func newEventWriter(w http.ResponseWriter, r *http.Request, resource collection, s *apiServer) *eventWriter {
	e := &eventWriter{server: s, resource: resource, out: bufio.NewWriterSize(w, 64<<10)}
	e.objects = objectsOf(NewGenerator(s.Size), resource, r.Header.Get("Accept"))
	contentType := preferred(r.Header.Get("Accept"))
	e.json = contentType == "application/json"
	if !e.json {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	e.flush = func() error {
		if err := e.out.Flush(); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	return e
}

// initial sends the objects that exist, and the bookmark that ends them.
func (e *eventWriter) initial(version int) error {
	for i := range e.count {
		if err := e.send("ADDED", e.at(i, e.server.at(e.resource.Resource, i))); err != nil {
			return err
		}
	}
	return e.bookmark(version, true)
}

func (e *eventWriter) follow(ctx context.Context, w *stateWatch, limit time.Duration) error {
	if err := e.flush(); err != nil { // the headers
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(bookmarkEach)
	defer tick.Stop()
	var queue []change
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			e.server.mu.Lock()
			idle, version := len(w.queue) == 0, e.server.version
			e.server.mu.Unlock()
			if !idle {
				continue
			}
			if err := e.bookmark(version, false); err != nil {
				return err
			}
		case <-w.wake:
			queue, _ = e.server.next(w, queue)
			for _, c := range queue {
				if err := e.send("MODIFIED", e.at(c.number, c.Edited)); err != nil {
					return err
				}
			}
		}
		if err := e.flush(); err != nil {
			return err
		}
	}
}

func (e *eventWriter) bookmark(version int, initial bool) error {
	if e.json {
		_, err := e.out.Write(jsonBookmark(e.resource, version, initial))
		return err
	}
	return e.send("BOOKMARK", bookmark(version, initial))
}

func (e *eventWriter) send(event string, object message) error {
	var err error
	if e.buffer, err = appendFrame(e.buffer[:0], event, e.kind, object); err != nil {
		return fmt.Errorf("encode an object of %s: %w", e.resource.Resource, err)
	}
	_, err = e.out.Write(e.buffer)
	return err
}

// list answers with all objects, or with the page that the client asks for.
func (s *apiServer) list(w http.ResponseWriter, r *http.Request, resource collection) error {
	version := s.now()
	contentType := preferred(r.Header.Get("Accept"))
	w.Header().Set("Content-Type", contentType)
	if contentType == "application/json" {
		_, err := fmt.Fprintf(w, `{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"%d"},"items":[]}`,
			resource.GroupVersion(), simulatedKinds[resource.Resource], version)
		return err
	}
	o := objectsOf(NewGenerator(s.Size), resource, r.Header.Get("Accept"))
	page := pageOf(r.URL.Query().Get("continue"), r.URL.Query().Get("limit"), o.count)
	head := metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}
	if page.to < o.count {
		head.Continue, head.RemainingItemCount = strconv.Itoa(page.to), new(int64(o.count-page.to))
	}
	size := 0
	for i := page.from; i < page.to; i++ {
		size += itemSize(o.at(i, Edited{}))
	}
	buffer, err := appendListHead(nil, o.kind, head, size)
	if err != nil {
		return err
	}
	// Lists show objects as they began: benchmarks that change objects don't list.
	for i := page.from; i < page.to; i++ {
		if buffer, err = appendItem(buffer, o.at(i, Edited{})); err != nil {
			return err
		}
		if len(buffer) < 64<<10 && i+1 < page.to {
			continue
		}
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		buffer = buffer[:0]
	}
	_, err = w.Write(buffer)
	return err
}

type page struct{ from, to int }

// pageOf returns the page that a client asks for, of so many objects.
func pageOf(token, limit string, count int) page {
	from, _ := strconv.Atoi(token)
	n, _ := strconv.Atoi(limit)
	from = min(max(from, 0), count)
	if n <= 0 {
		return page{from, count}
	}
	return page{from, min(from+n, count)}
}
