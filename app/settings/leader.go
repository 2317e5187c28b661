package settings

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/signpostd/signpost/internal/leader"
)

// Leader is the settings of a leader election.
type Leader struct {
	Elect                                     bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// ResourceName and ResourceNamespace are those of the Lease.
	ResourceName, ResourceNamespace string
}

func defaultLeader(name, namespace string) Leader {
	return Leader{
		Elect:             true,
		LeaseDuration:     leader.DefaultLeaseDuration,
		RenewDeadline:     leader.DefaultRenewDeadline,
		RetryPeriod:       leader.DefaultRetryPeriod,
		ResourceName:      name,
		ResourceNamespace: namespace,
	}
}

// kubernetesLease is the Lease duration of kube-controller-manager, so that our failover is as
// fast.
const kubernetesLease = 15 * time.Second

// settings returns the settings for this section of the config file. The namespace must match the pattern.
func (o *Leader) settings(section, namespaceUsage, pattern string) []Setting {
	at := section + ".leaderElection."
	return []Setting{
		{Flag: "leader-elect", Path: at + "leaderElect", Value: boolValue(&o.Elect), Usage: "write only while this process holds a Lease; without leader election, no other process may write the same objects"},
		{Flag: "leader-elect-lease-duration", Path: at + "leaseDuration", Value: durationValue(&o.LeaseDuration), Usage: "how long after its last renewal another process may take the Lease; in whole seconds"},
		{Flag: "leader-elect-renew-deadline", Path: at + "renewDeadline", Value: durationValue(&o.RenewDeadline), Usage: "how long after the last renewal of the Lease the leader stops writing; at least a second less than --leader-elect-lease-duration"},
		{Flag: "leader-elect-retry-period", Path: at + "retryPeriod", Value: durationValue(&o.RetryPeriod), Usage: "time between attempts to take or to renew the Lease"},
		{Flag: "leader-elect-resource-name", Path: at + "resourceName", Value: textValue{&o.ResourceName}, Usage: "`name` of the Lease", pattern: leasePattern},
		{Flag: "leader-elect-resource-namespace", Path: at + "resourceNamespace", Value: textValue{&o.ResourceNamespace}, Usage: namespaceUsage, pattern: pattern},
	}
}

// validate returns all faults, including those that [leader.Config.Validate] would return.
func (o *Leader) validate() []problem {
	if !o.Elect {
		return nil
	}
	found := o.validateTimes()
	if wrong := validation.IsDNS1123Subdomain(o.ResourceName); len(wrong) > 0 {
		found = append(found, problem{flags: []string{"leader-elect-resource-name"}, reason: "is not a valid name of a Lease: " + strings.Join(wrong, ", ")})
	}
	return append(found, checkNamespace("leader-elect-resource-namespace", o.ResourceNamespace)...)
}

func (o *Leader) validateTimes() []problem {
	const lease, renew, retry = "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{lease, o.LeaseDuration}, {renew, o.RenewDeadline}, {retry, o.RetryPeriod}} {
		if d.value <= 0 {
			return []problem{{flags: []string{d.flag}, reason: "must be more than 0s"}}
		}
	}
	var found []problem
	if o.LeaseDuration%time.Second != 0 {
		found = append(found, problem{flags: []string{lease}, reason: "must be in whole seconds, because a Lease counts those"})
	}
	if o.LeaseDuration < o.RenewDeadline+time.Second {
		found = append(found, problem{
			flags:  []string{lease, renew},
			reason: "a Lease must last at least a second longer than its holder writes: set {" + lease + "} to more, or {" + renew + "} to less",
		})
	}
	if float64(o.RenewDeadline) <= leaderelection.JitterFactor*float64(o.RetryPeriod) {
		found = append(found, problem{
			flags: []string{renew, retry},
			reason: fmt.Sprintf("a second attempt needs time: {%s} must be longer than %v times {%s}: set {%[1]s} to more, or {%[3]s} to less",
				renew, leaderelection.JitterFactor, retry),
		})
	}
	return found
}
