package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/access"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/report"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/linked"
)

// inspected creates the status of the process, which /ready uses too, and collects the offers of
// the roles. The cluster is nil for roles that read no objects.
func (p *process) inspected(roles []role, cluster *kube.Cluster) {
	status := inspect.Status{Version: version.Version, Process: processName(), Started: time.Now()}
	for _, r := range roles {
		if r.Replicas != nil {
			p.Inspection.Replicas = r.Replicas
		}
		if r.Clusters != nil {
			p.Clusters = r.Clusters
		}
		offer := r.Offer
		offer.Role = r.Name
		if r.Name == settings.ControllersSection {
			// The steps of an explanation lead from an object to its clients, so writing comes
			// first.
			p.Inspection.Offers = slices.Insert(p.Inspection.Offers, 0, offer)
		} else {
			p.Inspection.Offers = append(p.Inspection.Offers, offer)
		}
		if len(status.Roles) == 0 || status.Roles[len(status.Roles)-1] != r.Name {
			// The destination role has two parts.
			status.Roles = append(status.Roles, r.Name)
		}
	}
	p.Inspection.Problems = func() []inspect.Problem { return roleProblems(roles) }
	p.Inspection.Status = func() inspect.Status { return statusNow(status, roles, cluster) }
	p.Ready = func() (bool, []string) { return readiness(cluster, roles) }
	p.Reasons = func() []string { return reasonsOf(cluster, roles) }
}

// openInspection creates the client that checks the tokens of requests, if the process has a
// cluster.
func (p *process) openInspection(in roleInput) error {
	if in.REST == nil {
		return nil
	}
	var clients connections
	client, err := clients.client(in.REST, clientConfig{timeout: requestTimeout})
	if err != nil {
		return err
	}
	p.Inspection.Access = access.New(client)
	p.Actors = append(p.Actors, run.Actor{Name: "client of the inspection", Run: func(ctx context.Context) error {
		<-ctx.Done()
		clients.closeIdle()
		return nil
	}})
	return nil
}

// statusNow adds the changing parts to a status.
func statusNow(s inspect.Status, roles []role, cluster *kube.Cluster) inspect.Status {
	s.Ready, s.Details = readiness(cluster, roles)
	for _, r := range roles {
		if r.Leading != nil {
			s.Leading = append(s.Leading, r.Leading())
		}
		if r.Clusters != nil {
			s.Clusters = clustersOf(r.Clusters())
		}
	}
	if cluster == nil {
		return s
	}
	sources := sourcesOf(roles)
	for _, t := range cluster.Status() {
		s.Tables = append(s.Tables, inspect.Table{
			Kind: t.Kind, State: string(t.State), Reason: string(t.Reason), Detail: t.Detail,
			Required: t.Required, Source: sources[t.Resource], Objects: t.Objects, StaleSeconds: t.Stale.Seconds(),
		})
	}
	return s
}

// sourcesOf returns the kinds that sources of DNS records read.
func sourcesOf(roles []role) map[schema.GroupResource]bool {
	sources := map[schema.GroupResource]bool{}
	for _, r := range roles {
		for _, t := range r.Tables {
			if r.Name == settings.DNSSection {
				sources[t.Resource().GroupResource()] = true
			}
		}
	}
	return sources
}

// processName returns the name of the pod, if the environment has it, or the host and the process.
func processName() string {
	if pod := os.Getenv("POD_NAME"); pod != "" {
		return pod
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// settingsJSON returns the settings as a config file in JSON, without secrets.
func settingsJSON(c settings.Config) (json.RawMessage, error) {
	text, err := settings.Print(c)
	if err != nil {
		return nil, err
	}
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("convert the settings to JSON: %w", err)
	}
	return converted, nil
}

func roleProblems(roles []role) (all []inspect.Problem) {
	for _, r := range roles {
		if r.Problems != nil {
			all = append(all, r.Problems()...)
		}
	}
	return all
}

func inspectedProblems(known []report.Known) []inspect.Problem {
	all := make([]inspect.Problem, 0, len(known))
	for _, k := range known {
		all = append(all, inspect.Problem{
			ID: strconv.FormatUint(k.ID, 10), Object: inspect.ObjectRef{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, Cluster: k.Cluster},
			Field: k.Field, Reason: k.Reason, Since: k.Since, Last: new(k.Last),
		})
	}
	return all
}

func clustersOf(links []linked.Status) []inspect.Cluster {
	all := make([]inspect.Cluster, 0, len(links))
	for _, l := range links {
		all = append(all, inspect.Cluster{
			Name: l.Cluster, State: string(l.State), Since: l.Since, Objects: l.Objects, Secret: l.Secret,
			Server: l.Server, TrustDomain: l.TrustDomain, Reason: l.Reason,
		})
	}
	return all
}
