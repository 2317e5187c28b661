package linked

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/kube"
)

// The status of a cluster whose API server hangs says for how long it has sent nothing. The request fails only
// half a minute later, or more.
func TestReasonOfSilentServer(t *testing.T) {
	hanging := kube.TableStatus{Kind: "service", Required: true, State: kube.Connecting, Stale: 12 * time.Second}
	edited := func(edit func(*kube.TableStatus)) kube.TableStatus {
		status := hanging
		edit(&status)
		return status
	}
	const tried = "the new kubeconfig is being tried; until it has worked, the one before stays in force"
	for name, tc := range map[string]struct {
		table      kube.TableStatus
		want, next string // next is the reason if another kubeconfig is in force
	}{
		"hangs":           {hanging, "service: no response for 12s", tried + "; service: no response for 12s"},
		"for a moment":    {edited(func(s *kube.TableStatus) { s.Stale = time.Second }), "", tried},
		"responds":        {edited(func(s *kube.TableStatus) { s.LastContact = time.Now() }), "", tried},
		"is not required": {edited(func(s *kube.TableStatus) { s.Required = false }), "", tried},
		"fails": {
			edited(func(s *kube.TableStatus) { s.State, s.Reason, s.Detail = kube.Waiting, kube.Unreachable, "refused" }),
			"unreachable: service: refused", staysInForce + "unreachable: service: refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pending := conditionOf([]kube.TableStatus{tc.table}, Connecting)
			if got := (conditions{served: pending, pending: pending, isPending: true}).reason(); got != tc.want {
				t.Errorf("the reason is %q, want %q", got, tc.want)
			}
			if got := (conditions{served: condition{state: Synced}, pending: pending, isPending: true, server: "x"}).reason(); got != tc.next {
				t.Errorf("with another one in force the reason is %q, want %q", got, tc.next)
			}
		})
	}
	if a, b := conditionOf([]kube.TableStatus{hanging}, Connecting), conditionOf(nil, Connecting); !a.sameAs(b) || a.failing() {
		t.Error("silence is logged as a failure, although the request may succeed")
	}
}
