package check

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/leader"
)

// If another installation leads by the same Lease for other publishers, a check fails before the
// installation. A holder with the same publishers, without a list, or that has expired isn't a
// finding (split-horizon V10).
func TestUnled(t *testing.T) {
	var a checker
	a.Config = wholeConfig(t, "ns", settings.DNSSection)
	ours := configure.LeadsFor(a.Config.DNS.Publishers)
	for name, test := range map[string]struct {
		annotation string
		ago        time.Duration
		failed     bool
	}{
		"other publishers":   {annotation: "other_1 public/0123456789abcdef", failed: true},
		"the same":           {annotation: "other_1 " + ours},
		"an earlier version": {},
		"an earlier holder":  {annotation: "former_2 public/0123456789abcdef"},
		"expired":            {annotation: "other_1 public/0123456789abcdef", ago: time.Hour},
	} {
		holder, seconds, renewed := "other_1", int32(15), metav1.NewMicroTime(time.Now().Add(-test.ago))
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{leader.LeadsForAnnotation: test.annotation}},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}
		result, found := a.unled(lease, "ns/signpost-dns")
		if found != test.failed {
			t.Errorf("%s: found %v, %+v", name, found, result)
		}
		if found && (result.State != Failed || !strings.Contains(result.Text, "other_1 leads by the Lease ns/signpost-dns for other publishers or settings (public)") || !strings.Contains(result.Hint, "resourceName")) {
			t.Errorf("%s: %+v", name, result)
		}
	}
}
