package openshiftroute

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
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
	return source.OpenNamed(in, source.Subject{
		Kind: routeKind, Label: "route", NameFields: []string{"spec.host", "status.ingress.host"}, Targets: "status.ingress",
	}, "openshiftroute", "routes", c.read), nil
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

// read finds the host and the router of the status entry that counts. Without one, it says why.
func (c *Config) read(found *source.Found, f *fields) {
	unnamed := false
	for _, e := range f.Status.Ingress {
		switch {
		case c.Router != "" && e.RouterName != c.Router || !e.admitted():
		case e.RouterCanonicalHostname == "":
			unnamed = true
		default:
			found.AddName("status.ingress.host", e.Host)
			found.AddTarget("status.ingress.routerCanonicalHostname", e.RouterCanonicalHostname)
			return
		}
	}
	router := "a router"
	if c.Router != "" {
		router = fmt.Sprintf("the router %s, which --openshift-router-name names,", source.Quoted(c.Router))
	}
	if unnamed {
		found.Skip(source.SkipNoTarget, "status.ingress",
			router+" has admitted the Route and has no routerCanonicalHostname: give it one, or set the annotation target")
		return
	}
	found.Skip(source.SkipNotAccepted, "status.ingress",
		"there is no entry with the condition Admitted: wait until "+router+" admits the Route, or see there why it doesn't")
}
