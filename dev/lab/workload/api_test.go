package workload

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestJudge shows that only an error of the request itself is final. The error of a Service whose address
// can't be stored is copied from an API server with a full etcd.
func TestJudge(t *testing.T) {
	services := schema.GroupKind{Kind: "Service"}
	invalid := func(message string) error {
		return apierrors.NewInvalid(services, "web-0", field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIPs"), []string{""}, message)})
	}
	for _, tt := range []struct {
		name string
		err  error
		want outcome
	}{
		{"no error", nil, made},
		{"no answer", errors.New("connection refused"), retry},
		{"overloaded", apierrors.NewTooManyRequests("later", 1), retry},
		{"starting", apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web-0", errors.New("not yet")), retry},
		{"malformed", apierrors.NewBadRequest("no"), failed},
		{"invalid", invalid("must be an address"), failed},
		{"invalid because etcd is full", invalid("failed to allocate IP: etcdserver: mvcc: database space exceeded"), retry},
		{"invalid because etcd is away", invalid("failed to allocate IP: rpc error: code = Unavailable desc = error reading from server: connection reset by peer"), retry},
	} {
		if got := judge(tt.err); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
