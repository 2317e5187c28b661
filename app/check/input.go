package check

import (
	"cmp"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
)

// Input has the configuration to check, and the connections for the checks.
type Input struct {
	// Config has the roles and their settings.
	Config settings.Config
	// Rights is a connection as Signpost's service account, or as the user, for access reviews. Own
	// is a connection as the user, for objects that Signpost itself doesn't read.
	Rights, Own *rest.Config
	// Unreachable is the reason why both are missing; nil if they aren't.
	Unreachable error
	// As names the account of the rights in messages, such as "system:serviceaccount:dns:publisher".
	As string
	// Account is the service account of Signpost, in the namespace where Signpost runs or will run.
	Account types.NamespacedName
	// Pods says which pods are those of the installation; the zero value is for all pods of Signpost.
	Pods Pods
	// Needs has what must exist before the installation.
	Needs Needs
	// NoSecret has the reasons why publishers lack a secret here, by publisher. Their zones are
	// unknown.
	NoSecret map[string]error
	Log      *slog.Logger
}

// Pods selects pods by a namespace and labels.
type Pods struct{ Namespace, Selector string }

// Needs are objects that an installation doesn't create, and without which it fails.
type Needs struct {
	// Secrets are those that pods mount, in the namespace of the account.
	Secrets []string
	// Namespaces has an object that will be created in each namespace.
	Namespaces map[string]string
}

// Checks returns the checks for an input. The first is that of the API server.
func Checks(s Input) []Check {
	var checks []Check
	if s.Config.NeedsCluster() {
		checks = s.clusterChecks()
	}
	if s.Config.RunsDNS {
		for _, p := range s.Config.DNS.Publishers {
			group := "zones"
			if p.Name != "" {
				group += " of " + p.Name
			}
			about := "the zones of " + cmp.Or(p.Name, "signpost dns")
			checks = append(checks, Check{Group: group, About: about, Run: s.zones(p)})
		}
	}
	return checks
}

func (s Input) clusterChecks() []Check {
	a := checker{Input: s}
	if s.Unreachable == nil {
		var err, ownErr error
		a.rights, err = client(s.Rights)
		a.own, ownErr = client(s.Own)
		s.Unreachable = cmp.Or(err, ownErr)
	}
	if s.Unreachable != nil {
		return []Check{{Group: "cluster", About: "the API server", AskAPI: true, Run: s.unreachable}}
	}
	checks := []Check{{Group: "cluster", About: "the API server", AskAPI: true, Run: a.reach}}
	for _, needed := range a.needed() {
		checks = append(checks, Check{Group: "rights of " + needed.Section, About: "the rights of " + needed.Section, AskAPI: true, Run: a.rightsOf(needed)})
	}
	checks = append(checks, Check{Group: "kinds", About: "the kinds of objects", AskAPI: true, Run: a.kinds})
	if s.Config.RunsControllers {
		checks = append(checks, Check{Group: "other writers", About: "other writers of endpoints", AskAPI: true, Run: a.writers})
	}
	if s.Config.RunsDestination || s.Config.RunsXDS {
		checks = append(checks, Check{Group: "linked clusters", About: "the linked clusters", AskAPI: true, Run: a.links})
	}
	return append(checks, Check{Group: "installation", About: "the installation", AskAPI: true, Run: a.installed})
}

// checker is an input with clients.
type checker struct {
	Input
	rights, own *kubernetes.Clientset
}

// client returns a client without rate limits, because only some dozens of small requests are sent.
func client(cfg *rest.Config) (*kubernetes.Clientset, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst, cfg.RateLimiter = -1, 0, nil
	// The API server warns that Endpoints are deprecated, which is of no use here.
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	return kubernetes.NewForConfig(cfg)
}
