package process

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/testkit/logtest"
)

// An API server may refuse requests while it starts. A publisher that took one refusal for an
// answer would have no instance until its process ends, and could change the records of another
// cluster with its owner ID.
func TestRefusedInstance(t *testing.T) {
	for name, test := range map[string]struct {
		refusals int
		first    configure.Refusals
		// requests is how many requests are sent; none is true if there is no instance then.
		requests int
		none     bool
	}{
		"no refusal":               {first: configure.RefusalsMayPass, requests: 1},
		"one refusal":              {refusals: 1, first: configure.RefusalsMayPass, requests: 2},
		"two refusals":             {refusals: 2, first: configure.RefusalsMayPass, requests: 2, none: true},
		"one after others allowed": {refusals: 1, first: configure.RefusalsCount, requests: 1, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, flags := configure.New(), pflag.NewFlagSet("", pflag.ContinueOnError)
			o.Flags(flags)
			if err := flags.Parse([]string{"--source=service", "--provider=inmemory", "--policy=sync"}); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Buffer
				logger := slog.New(slog.NewTextHandler(&log, nil))
				opened, err := o.Open(t.Context(), configure.Input{Log: logger, Provider: inmemory.New()})
				if err != nil {
					t.Fatal(err)
				}
				requests := 0
				client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "u"}})
				client.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
					requests++
					if requests <= test.refusals {
						return true, nil, apierrors.NewForbidden(corev1.Resource("namespaces"), "kube-system", nil)
					}
					return false, nil, nil
				})
				r := &dnsRole{opened: []*configure.Opened{opened}, namespaces: client.CoreV1(), log: logger}
				if !r.identify(t.Context(), test.first) {
					t.Error("the publisher was not identified")
				}
				if requests != test.requests {
					t.Errorf("there were %d requests, want %d", requests, test.requests)
				}
				if none := strings.Contains(log.String(), "can't be distinguished"); none != test.none {
					t.Errorf("without instance: %t, want %t; the log is\n%s", none, test.none, &log)
				}
			})
		})
	}
}
