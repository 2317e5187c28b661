package process

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// rewindableServer serves a kind without objects. A bookmark in its channel goes to the open watch.
type rewindableServer struct {
	version   atomic.Int64
	bookmarks chan int64
}

func (s *rewindableServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprintf(w, `{"kind": "List", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "%d"}, "items": []}`, s.version.Load())
		return
	}
	bookmark := func(version int64, annotations string) {
		fmt.Fprintf(w, `{"type": "BOOKMARK", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "%d"%s}}}`+"\n", version, annotations)
		_ = http.NewResponseController(w).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		bookmark(s.version.Load(), `, "annotations": {"k8s.io/initial-events-end": "true"}`)
	}
	for {
		select {
		case version := <-s.bookmarks:
			bookmark(version, "")
		case <-r.Context().Done():
			return
		}
	}
}

// A process that is stopped while it catches up after a rewind hands over no versions, because those of its
// term belong to a lost history. Before, it handed over what its tables had when the work ended.
func TestNothingIsHandedOverAfterARewind(t *testing.T) {
	server := &rewindableServer{bookmarks: make(chan int64)}
	server.version.Store(1000)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	table := kube.Kind[string]{
		Name: "as", Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "as"}, ClusterWide: true,
		Form: kube.Unstructured(), Trim: kube.TrimOf(func(_ kube.Scope, u *unstructured.Unstructured) (*string, []kube.Problem) {
			return new(u.GetName()), nil
		}),
	}.Table()
	cluster, err := kube.New(kube.Options{Config: &rest.Config{Host: h.URL}, Logger: slog.New(slog.DiscardHandler)}, table)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cluster.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-ended })
	<-cluster.Settled()

	term, sigterm := context.WithCancel(ctx)
	handedOver := ""
	begin := upToDate{
		tables: []kube.AnyTable{table}, log: slog.New(slog.DiscardHandler), handOver: func(text string) { handedOver = text },
		lead: func(ctx context.Context) error {
			server.version.Store(900)
			server.bookmarks <- 900
			<-ctx.Done()
			kubetest.Eventually(t, 20*time.Second, func() error { // the tables are listed again
				if v := table.ResourceVersion(); v != "900" {
					return fmt.Errorf("the table has version %q, want 900", v)
				}
				return nil
			})
			sigterm()
			return nil
		},
	}
	if err := begin.run(term); err != nil || handedOver != "" {
		t.Errorf("handed over %q, want nothing: %v", handedOver, err)
	}
}
