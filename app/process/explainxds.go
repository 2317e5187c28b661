package process

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds"
)

// explainedXDS is an [inspect.Explainer] of the responses to the xDS clients of a Service.
type explainedXDS struct {
	known  *catalog.Catalog
	server *xds.Server
}

// maxPorts limits the explained ports of a Service, if the query has none.
const maxPorts = 10

// Explain implements [inspect.Explainer].
func (x *explainedXDS) Explain(_ context.Context, q inspect.Query) []inspect.Step {
	if q.Service == nil {
		return nil
	}
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: q.Service.Namespace, Name: q.Service.Name}
	service, found := x.known.FindService(key)
	streams, rejected := x.server.Subscribers(key)
	if !found {
		response := x.server.Explain(key, q.Service.Hostname, q.Service.Port)
		return []inspect.Step{xdsPortStep(q.Service.Port, response, streams > 0), xdsClients(streams, rejected)}
	}
	var steps []inspect.Step
	for _, p := range service.Ports {
		if p.Protocol == catalog.TCP && q.Service.WantsPort(p.Port, p.Name) && len(steps) < maxPorts {
			steps = append(steps, xdsPortStep(p.Port, x.server.Explain(key, q.Service.Hostname, p.Port), streams > 0))
		}
	}
	return append(steps, xdsClients(streams, rejected))
}

// xdsPortStep describes the response for a port, by zone and node of the clients. A refusal is only
// a note if no client is subscribed.
func xdsPortStep(port uint16, t xds.FirstResponse, subscribed bool) inspect.Step {
	s := inspect.Step{What: "xDS", State: inspect.StepOK}
	if t.Refusal != nil {
		s.State, s.Text = inspect.StepNote, fmt.Sprintf("xDS clients of port %d are told: %v", port, t.Refusal)
		if subscribed {
			s.State = inspect.StepWrong
		}
		return s
	}
	served := false
	for _, place := range t.Places {
		served = served || len(place.Usable) > 0
		s.More = append(s.More, xdsPlaceLine(place))
	}
	if t.MorePlaces > 0 {
		s.More = append(s.More, fmt.Sprintf("and %d more places", t.MorePlaces))
	}
	switch {
	case served:
		s.Text = fmt.Sprintf("xDS clients of port %d get endpoints, by the Cluster %s", port, t.Cluster)
	case t.Pending:
		s.State, s.Text = inspect.StepUnknown, fmt.Sprintf("xDS clients of port %d wait for a linked cluster that is not read yet", port)
	case len(t.Overrides) > 0:
		s.State, s.Text = inspect.StepNote, fmt.Sprintf("xDS clients of port %d are served by the Clusters %s that the ServiceProfile names, and the Service itself has no endpoint",
			port, strings.Join(t.Overrides, ", "))
	default:
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("xDS clients of port %d get no endpoint: their calls fail at once", port)
	}
	if t.VisibleTo != "" {
		s.More = append(s.More, "only for clients in the namespaces "+t.VisibleTo+" (signpost.dev/xds-visible-to; . is that of the Service); for others it doesn't exist")
	}
	for _, problem := range t.Problems {
		s.More = append(s.More, "the ServiceProfile says what xDS can't: "+problem)
	}
	return s
}

// xdsPlaceLine describes the endpoints for clients in a zone or on a node, such as "clients in the
// zone a: 3 endpoints, when these fail 2".
func xdsPlaceLine(p xds.PlaceResponse) string {
	first, others := "no endpoints", []string(nil)
	for i, n := range p.Usable {
		if i == 0 {
			first = inspect.Plural(n, "endpoint")
			continue
		}
		others = append(others, fmt.Sprint(n))
	}
	text := "clients " + whyserved.LocationOf(p.Filter) + ": " + first
	if len(others) > 0 {
		text += ", when these fail " + strings.Join(others, ", then ")
	}
	if p.Draining > 0 {
		text += fmt.Sprintf("; %d draining", p.Draining)
	}
	return text
}

// xdsClients returns the number of subscribed streams, and the rejections of clients.
func xdsClients(streams int, rejected []string) inspect.Step {
	s := inspect.Step{What: "xDS clients", State: inspect.StepNote, Text: fmt.Sprintf("%d xDS streams are subscribed to it", streams), More: rejected}
	if len(rejected) > 0 {
		s.State = inspect.StepWrong
		s.Text = fmt.Sprintf("clients reject resources of it, and use what they had before: the Events XdsRejected of the Service have their reasons (%s)", s.Text)
	}
	return s
}
