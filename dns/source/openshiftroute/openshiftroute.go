package openshiftroute

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "openshift-route"

var routeKind = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of OpenShift Routes, at the routers that have admitted them", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: source.CommonAnnotations,
		New:         func() source.Config { return &Config{} },
	}
}

// Config is the settings of the source.
type Config struct {
	// Router is the only router whose status entries count; empty means any.
	Router string
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Router, "openshift-router-name", c.Router, "publish what the OpenShift `router` with this name has admitted; without it, the first one in the status of a Route")
}

// Resources implements [source.Config].
func (c *Config) Resources() []source.Resource {
	return []source.Resource{{Kind: routeKind, Plural: "routes", Optional: true}}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	s := &routes{router: c.Router, reader: source.NewReader(in.Settings, source.Subject{
		Source: name, Kind: routeKind, Label: "route", Properties: true, NameFields: []string{"spec.host", "status.ingress.host"},
	})}
	return source.Of(s.reader, source.Custom(s.reader, "openshiftroute", "routes", s.read).Table(source.Notify[route](in.Changed)), s.evaluate), nil
}

// routes is the source.
type routes struct {
	router string
	reader *source.Reader
}

type route struct {
	source.Object
	// found has the host and the router of the status entry that counts, if there is one.
	found source.Found
	// unnamed is true if there is none because the router that admitted the Route has no canonical
	// name.
	unnamed bool
}

// fields are the fields of a Route that are read.
type fields struct {
	Status struct {
		Ingress []entry `json:"ingress"`
	} `json:"status"`
}

// entry is the status entry of a router.
type entry struct {
	Host                    string `json:"host"`
	RouterName              string `json:"routerName"`
	RouterCanonicalHostname string `json:"routerCanonicalHostname"`
	Conditions              []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"conditions"`
}

func (e *entry) admitted() bool {
	for _, condition := range e.Conditions {
		if condition.Type == "Admitted" {
			return condition.Status == "True"
		}
	}
	return false
}

func (s *routes) read(scope kube.Scope, r *route, f *fields, _ *unstructured.Unstructured) {
	for _, e := range f.Status.Ingress {
		if s.router != "" && e.RouterName != s.router || !e.admitted() {
			continue
		}
		if e.RouterCanonicalHostname == "" {
			r.unnamed = true
			continue
		}
		r.unnamed = false
		r.found.AddName("status.ingress.host", e.Host)
		r.found.AddTarget("status.ingress.routerCanonicalHostname", scope.Intern(e.RouterCanonicalHostname))
		break
	}
	r.found.AddNames("hostname", s.reader.Hosts(&r.Object))
}

func (s *routes) evaluate(r *route) source.Result {
	result := s.reader.Publish(&r.Object, &r.found, source.Missing{})
	if result.Err == nil && len(result.Records) == 0 && len(r.found.Targets) == 0 {
		// The skip explains the missing name or target.
		result.Skipped = append([]source.Skip{s.notAdmitted(r)}, r.Annotations.Remarks...)
	}
	return result
}

// notAdmitted says why no entry of the status counts.
func (s *routes) notAdmitted(r *route) source.Skip {
	router := "a router"
	if s.router != "" {
		router = fmt.Sprintf("the router %s, which --openshift-router-name names,", source.Quoted(s.router))
	}
	skip := source.Skip{Reason: source.SkipNotAccepted, Subject: "status.ingress", Message: fmt.Sprintf(
		"there is no entry with the condition Admitted: wait until %s admits the Route, or see there why it doesn't", router,
	)}
	if r.unnamed {
		skip.Reason, skip.Message = source.SkipNoTarget, fmt.Sprintf(
			"%s has admitted the Route and has no routerCanonicalHostname: give it one, or set the annotation target", router,
		)
	}
	return skip
}
