package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/signpostd/signpost/internal/leader"
)

// leaderOptions are the settings of leader election.
type leaderOptions struct {
	Elect                                     bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// ResourceName and ResourceNamespace are those of the Lease.
	ResourceName, ResourceNamespace string
}

func defaultLeaderOptions(name, namespace string) leaderOptions {
	return leaderOptions{
		Elect:             true,
		LeaseDuration:     leader.DefaultLeaseDuration,
		RenewDeadline:     leader.DefaultRenewDeadline,
		RetryPeriod:       leader.DefaultRetryPeriod,
		ResourceName:      name,
		ResourceNamespace: namespace,
	}
}

// settings are those of a role, in its section of the config file.
func (o *leaderOptions) settings(section, namespaceUsage string) []setting {
	at := section + ".leaderElection."
	return []setting{
		{flag: "leader-elect", path: at + "leaderElect", value: boolValue{&o.Elect}, usage: "write only while this process holds a Lease; without it no other process may write the same objects"},
		{flag: "leader-elect-lease-duration", path: at + "leaseDuration", value: durationValue{&o.LeaseDuration}, usage: "how long the others wait, after the leader renewed the Lease for the last time, before one of them takes it; in whole seconds"},
		{flag: "leader-elect-renew-deadline", path: at + "renewDeadline", value: durationValue{&o.RenewDeadline}, usage: "how long the leader writes after it renewed the Lease for the last time; at least a second less than the Lease lasts"},
		{flag: "leader-elect-retry-period", path: at + "retryPeriod", value: durationValue{&o.RetryPeriod}, usage: "time between attempts to renew or to take the Lease"},
		{flag: "leader-elect-resource-name", path: at + "resourceName", value: textValue{&o.ResourceName}, usage: "`name` of the Lease"},
		{flag: "leader-elect-resource-namespace", path: at + "resourceNamespace", value: textValue{&o.ResourceNamespace}, usage: namespaceUsage},
	}
}

// validate returns what is wrong, with what [leader.Config.Validate] would refuse.
func (o *leaderOptions) validate() []problem {
	if !o.Elect {
		return nil
	}
	found := o.validateTimes()
	if wrong := validation.IsDNS1123Subdomain(o.ResourceName); len(wrong) > 0 {
		found = append(found, problem{flags: []string{"leader-elect-resource-name"}, reason: "is no name of a Lease: " + strings.Join(wrong, ", ")})
	}
	if wrong := validation.IsDNS1123Label(o.ResourceNamespace); len(wrong) > 0 {
		found = append(found, problem{flags: []string{"leader-elect-resource-namespace"}, reason: "is no name of a namespace: " + strings.Join(wrong, ", ")})
	}
	return found
}

func (o *leaderOptions) validateTimes() []problem {
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
		found = append(found, problem{flags: []string{lease}, reason: "must be in whole seconds, as a Lease counts"})
	}
	if o.LeaseDuration < o.RenewDeadline+time.Second {
		found = append(found, problem{
			flags:  []string{lease, renew},
			reason: "a Lease must last at least a second longer than its holder writes: set {" + lease + "} to more, or {" + renew + "} to less",
		})
	}
	if float64(o.RenewDeadline) <= leaderelection.JitterFactor*float64(o.RetryPeriod) {
		found = append(found, problem{
			flags:  []string{renew, retry},
			reason: fmt.Sprintf("must be longer than %v times {%s}, which leaves time for a second attempt: set {%[2]s} to less", leaderelection.JitterFactor, retry),
		})
	}
	return found
}
