package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// An object that is nested as deep as API servers accept hides no others of its kind: as a part of a list it is
// two levels deeper, which is more than decoders of JSON accept.
func TestDeepObjectHidesNoOthers(t *testing.T) {
	const levels = 10_000 - 2 // below the object and its spec
	deep := `{"kind":"Server","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"namespace":"ns","name":"deep","resourceVersion":"7"},` +
		`"spec":{"port":80,"other":` + strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) + `}}`
	const other = `{"metadata":{"namespace":"ns","name":"web","resourceVersion":"8"},"spec":{"port":80}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); {
		case q.Get("watch") == "":
			fmt.Fprintf(w, `{"kind":"ServerList","apiVersion":"policy.linkerd.io/v1beta3","metadata":{"resourceVersion":"9"},"items":[%s,%s]}`, deep, other)
		case q.Get("sendInitialEvents") == "true":
			http.Error(w, "no", http.StatusUnprocessableEntity)
		default:
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	typed, whole := Servers().Table(), loose(Servers())
	for name, table := range map[string]AnyTable{"typed": typed, "unstructured": whole} {
		t.Run(name, func(t *testing.T) {
			settle(t, run(t, &rest.Config{Host: server.URL}, newRecorder(), table))
			if n := table.Len(); n != 2 {
				t.Errorf("%d of 2 objects are known", n)
			}
		})
	}
	web := whole.Get("ns", "web")
	if web == nil || web.GetKind() != "Server" || web.GetAPIVersion() != "policy.linkerd.io/v1beta3" {
		t.Fatalf("an object that has its kind from the list is %v", web)
	}
	if port, _, err := unstructured.NestedInt64(web.Object, "spec", "port"); err != nil || port != 80 {
		t.Errorf("its port is %d, %v", port, err)
	}
}
