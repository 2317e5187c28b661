package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/controllers/endpointslices"
	"github.com/signpostd/signpost/controllers/mirroring"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// manager is the field manager and Lease name of Kubernetes' controller manager.
	manager          = "kube-controller-manager"
	managerNamespace = "kube-system"
	// ownFieldManager is the field manager of Signpost; see version.UserAgent.
	ownFieldManager = "signpost"
	// maxSlices limits the objects of each kind that are read.
	maxSlices = 500
	// recently is the age of a write up to which its writer counts as active.
	recently = 10 * time.Minute
	// offFlag disables the conflicting controllers of the controller manager.
	offFlag = "--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller"
	offHint = "make sure that it runs with " + offFlag
)

// managerNames are the controller manager's names of our controllers.
var managerNames = map[controllers.Name]string{
	controllers.Endpoints: "endpoints-controller", controllers.EndpointSlices: "endpointslice-controller", controllers.Mirroring: "endpointslice-mirroring-controller",
}

// writers checks whether Kubernetes' controller manager writes the same objects as our controllers.
// Two writers would undo each other's work.
func (a checker) writers(ctx context.Context) []Result {
	names, err := a.Config.Controllers.Names()
	if err != nil {
		return []Result{{State: Failed, Text: reason(err)}}
	}
	var contested []string
	for _, n := range names {
		if other := managerNames[n]; other != "" {
			contested = append(contested, other)
		}
	}
	if len(contested) == 0 {
		return nil
	}
	if result, ok := a.managerFlags(ctx, contested); ok {
		return []Result{result}
	}
	return []Result{a.managerWrites(ctx)}
}

// managerFlags reads the enabled controllers from the command line of the controller manager. It
// finds none if that isn't a pod, as in clusters of cloud providers.
func (a checker) managerFlags(ctx context.Context, contested []string) (Result, bool) {
	list, err := a.own.CoreV1().Pods(managerNamespace).List(ctx, metav1.ListOptions{LabelSelector: "component=" + manager, Limit: maxPods})
	if err != nil || len(list.Items) == 0 {
		return Result{}, false
	}
	var running []string
	for _, pod := range list.Items {
		wanted := managerList(pod)
		for _, name := range contested {
			if managerRuns(wanted, name) && !slices.Contains(running, name) {
				running = append(running, name)
			}
		}
	}
	if len(running) == 0 {
		return Result{State: OK, Text: fmt.Sprintf("%s runs without %s", manager, strings.Join(contested, ", "))}, true
	}
	return Result{State: Failed, Text: fmt.Sprintf("%s runs %s, which would undo what Signpost writes", manager, strings.Join(running, ", ")), Hint: "switch them off there before Signpost writes: " + offFlag}, true
}

// managerList returns the value of --controllers of a pod, or its default.
func managerList(pod corev1.Pod) []string {
	wanted := "*"
	for _, c := range pod.Spec.Containers {
		args := slices.Concat(c.Command, c.Args)
		for i, arg := range args {
			if value, ok := strings.CutPrefix(arg, "--controllers="); ok {
				wanted = value
			} else if arg == "--controllers" && i+1 < len(args) {
				wanted = args[i+1]
			}
		}
	}
	return strings.Split(wanted, ",")
}

// managerRuns reports whether a list of controllers enables one: the first mention counts, then the
// asterisk. The controller manager also accepts names without "-controller".
func managerRuns(wanted []string, name string) bool {
	alias := map[string]string{"endpoints-controller": "endpoint", "endpointslice-controller": "endpointslice", "endpointslice-mirroring-controller": "endpointslicemirroring"}[name]
	for _, w := range wanted {
		switch strings.TrimSpace(w) {
		case name, alias:
			return true
		case "-" + name, "-" + alias:
			return false
		}
	}
	return slices.Contains(wanted, "*")
}

// managerWrites checks by its Lease and its last writes whether the controller manager writes
// endpoints. A single controller manager may have no Lease.
func (a checker) managerWrites(ctx context.Context) Result {
	leads, err := a.managerLeads(ctx)
	var last written
	if err == nil {
		last, err = a.lastWrite(ctx)
	}
	ago := time.Since(last.at).Round(time.Second)
	hint := "stop the controllers of " + last.by + " that write EndpointSlices before Signpost does"
	if last.by == manager {
		hint = offHint
	}
	switch {
	case apierrors.IsForbidden(err):
		return Result{State: Note, Text: fmt.Sprintf("whether %s writes endpoints isn't known, because you may not get its Lease in %s or not list EndpointSlices", manager, managerNamespace), Hint: offHint}
	case err != nil:
		return Result{State: Unknown, Text: "other writers of endpoints are unknown: " + reason(err)}
	case last.at.IsZero():
		return Result{State: OK, Text: "no other program wrote an existing EndpointSlice that Signpost would write"}
	case ago < recently:
		return Result{State: Failed, Text: fmt.Sprintf("%s writes EndpointSlices: it wrote %s %v ago", last.by, last.name, ago), Hint: hint + wasRecent(ago)}
	case leads && last.by == manager:
		return Result{State: Warning, Text: fmt.Sprintf("%s runs, and wrote the EndpointSlice %s at %s", manager, last.name, last.at.UTC().Format(time.RFC3339)), Hint: hint}
	default:
		return Result{State: Note, Text: fmt.Sprintf("%s wrote the EndpointSlice %s at %s", last.by, last.name, last.at.UTC().Format(time.RFC3339)), Hint: hint}
	}
}

// wasRecent says when a writer that was stopped no longer counts as active.
func wasRecent(ago time.Duration) string {
	minutes := int(math.Ceil((recently - ago).Minutes()))
	return fmt.Sprintf("; if that was done since, check again in %d min", minutes)
}

// managerLeads reports whether a controller manager renews its Lease.
func (a checker) managerLeads(ctx context.Context) (bool, error) {
	lease, err := a.own.CoordinationV1().Leases(managerNamespace).Get(ctx, manager, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && lease.Spec.RenewTime != nil && time.Since(lease.Spec.RenewTime.Time) < time.Minute, err
}

// written is an object, and its last writer and time.
type written struct {
	by, name string
	at       time.Time
}

// lastWrite returns the EndpointSlice, among those that our controllers write, that another writer
// wrote last.
func (a checker) lastWrite(ctx context.Context) (written, error) {
	list, err := a.own.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{
		LabelSelector: fmt.Sprintf("%s in (%s,%s)", discoveryv1.LabelManagedBy, endpointslices.ManagedBy, mirroring.ManagedBy), Limit: maxSlices,
	})
	if err != nil {
		return written{}, err
	}
	var last written
	for _, s := range list.Items {
		for _, f := range s.ManagedFields {
			if f.Manager != ownFieldManager && f.Time != nil && f.Time.After(last.at) {
				last = written{by: sanitize.Name(f.Manager), name: sanitize.Name(s.Namespace) + "/" + sanitize.Name(s.Name), at: f.Time.Time}
			}
		}
	}
	return last, nil
}
