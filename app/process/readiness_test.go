package process

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/kube"
)

// A replica whose credentials stay refused becomes unready, and says what to do (day2 B5).
func TestRefusedCredentials(t *testing.T) {
	refusedFor := func(d time.Duration) kube.TableStatus {
		return kube.TableStatus{
			Resource: schema.GroupResource{Resource: "pods"}, Required: true, State: kube.Waiting, Reason: kube.Unauthorized, Filled: true, Stale: d,
		}
	}
	if refused(refusedFor(59 * time.Second)) {
		t.Error("a short refusal counts")
	}
	if !refused(refusedFor(time.Minute)) {
		t.Error("a long refusal doesn't count")
	}
	other := refusedFor(time.Hour)
	other.Reason = kube.Unreachable
	if refused(other) {
		t.Error("an API server that is away makes all replicas unready")
	}
	optional := refusedFor(time.Hour)
	optional.Required = false
	if refused(optional) {
		t.Error("an optional kind makes the replica unready")
	}
	if lines := missing(refusedFor(time.Hour)); len(lines) != 1 || !strings.Contains(lines[0], "valid credentials, and restart it if they are in its kubeconfig") {
		t.Errorf("%q", lines)
	}
}
