package settings

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/signpostd/signpost/internal/leader"
)

// Leader are the settings of leader election.
type Leader struct {
	Elect                                     bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// ResourceName and ResourceNamespace are those of the Lease.
	ResourceName, ResourceNamespace string
}

func defaultLeaderOptions(name, namespace string) Leader {
	return Leader{
		Elect:             true,
		LeaseDuration:     leader.DefaultLeaseDuration,
		RenewDeadline:     leader.DefaultRenewDeadline,
		RetryPeriod:       leader.DefaultRetryPeriod,
		ResourceName:      name,
		ResourceNamespace: namespace,
	}
}

// Settings are those of a role, in its section of the config file.
func (o *Leader) Settings(section, namespaceUsage string) []Setting {
	at := section + ".leaderElection."
	return []Setting{
		{Flag: "leader-elect", Path: at + "leaderElect", Value: boolValue{&o.Elect}, Usage: "write only while this process holds a Lease; without it no other process may write the same objects"},
		{Flag: "leader-elect-lease-duration", Path: at + "leaseDuration", Value: durationValue{&o.LeaseDuration}, Usage: "how long the others wait, after the leader renewed the Lease for the last time, before one of them takes it; in whole seconds"},
		{Flag: "leader-elect-renew-deadline", Path: at + "renewDeadline", Value: durationValue{&o.RenewDeadline}, Usage: "how long the leader writes after it renewed the Lease for the last time; at least a second less than the Lease lasts"},
		{Flag: "leader-elect-retry-period", Path: at + "retryPeriod", Value: durationValue{&o.RetryPeriod}, Usage: "time between attempts to renew or to take the Lease"},
		{Flag: "leader-elect-resource-name", Path: at + "resourceName", Value: textValue{&o.ResourceName}, Usage: "`name` of the Lease"},
		{Flag: "leader-elect-resource-namespace", Path: at + "resourceNamespace", Value: textValue{&o.ResourceNamespace}, Usage: namespaceUsage},
	}
}

// validate returns what is wrong, with what [leader.Config.Validate] would refuse.
func (o *Leader) validate() []Problem {
	if !o.Elect {
		return nil
	}
	found := o.validateTimes()
	if wrong := validation.IsDNS1123Subdomain(o.ResourceName); len(wrong) > 0 {
		found = append(found, Problem{flags: []string{"leader-elect-resource-name"}, reason: "is no name of a Lease: " + strings.Join(wrong, ", ")})
	}
	if wrong := validation.IsDNS1123Label(o.ResourceNamespace); len(wrong) > 0 {
		found = append(found, Problem{flags: []string{"leader-elect-resource-namespace"}, reason: "is no name of a namespace: " + strings.Join(wrong, ", ")})
	}
	return found
}

func (o *Leader) validateTimes() []Problem {
	const lease, renew, retry = "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{lease, o.LeaseDuration}, {renew, o.RenewDeadline}, {retry, o.RetryPeriod}} {
		if d.value <= 0 {
			return []Problem{{flags: []string{d.flag}, reason: "must be more than 0s"}}
		}
	}
	var found []Problem
	if o.LeaseDuration%time.Second != 0 {
		found = append(found, Problem{flags: []string{lease}, reason: "must be in whole seconds, as a Lease counts"})
	}
	if o.LeaseDuration < o.RenewDeadline+time.Second {
		found = append(found, Problem{
			flags:  []string{lease, renew},
			reason: "a Lease must last at least a second longer than its holder writes: set {" + lease + "} to more, or {" + renew + "} to less",
		})
	}
	if float64(o.RenewDeadline) <= leaderelection.JitterFactor*float64(o.RetryPeriod) {
		found = append(found, Problem{
			flags:  []string{renew, retry},
			reason: fmt.Sprintf("must be longer than %v times {%s}, which leaves time for a second attempt: set {%[2]s} to less", leaderelection.JitterFactor, retry),
		})
	}
	return found
}
