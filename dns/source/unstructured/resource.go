package unstructured

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// resourcesLimit limits the resources, because each is a watch.
const resourcesLimit = 100

// version matches names of API versions.
var version = regexp.MustCompile(`^v[0-9][a-z0-9]{0,61}$`)

// resourcesOf parses the resources of the flag. The error says what is wrong with each value.
func resourcesOf(values []string) ([]schema.GroupVersionResource, error) {
	var resources []schema.GroupVersionResource
	var errs []error
	for _, value := range values {
		r, err := resourceOf(strings.TrimSpace(value))
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %q: %w; use plural.version.group, such as virtualmachines.v1.kubevirt.io, or configmaps.v1 for a kind of Kubernetes' core",
				resourceFlag, value, err))
			continue
		}
		same := slices.IndexFunc(resources, func(other schema.GroupVersionResource) bool { return other.GroupResource() == r.GroupResource() })
		switch {
		case same < 0:
			resources = append(resources, r)
		case resources[same] != r:
			errs = append(errs, fmt.Errorf("--%s %q: %s is named in the version %s, too; name one version, because both have the same objects",
				resourceFlag, value, r.GroupResource(), resources[same].Version))
		}
	}
	switch {
	case len(values) == 0:
		errs = append(errs, fmt.Errorf("--%s: the source %s has no resource to read; name one, such as virtualmachines.v1.kubevirt.io", resourceFlag, name))
	case len(resources) > resourcesLimit:
		errs = append(errs, fmt.Errorf("--%s: %d resources; name at most %d", resourceFlag, len(resources), resourcesLimit))
	}
	return resources, errors.Join(errs...)
}

// resourceOf parses one value of the flag.
func resourceOf(value string) (r schema.GroupVersionResource, err error) {
	parts := strings.SplitN(value, ".", 3)
	if len(parts) < 2 {
		return r, errors.New("there is no version")
	}
	r.Resource, r.Version = parts[0], parts[1]
	if len(parts) == 3 {
		r.Group = parts[2]
	}
	switch {
	case len(validation.IsDNS1035Label(r.Resource)) > 0:
		return r, fmt.Errorf("%q is no plural name of a kind, in small letters", r.Resource)
	case !version.MatchString(r.Version):
		return r, fmt.Errorf("%q is no version, such as v1 or v1beta1", r.Version)
	case len(parts) == 3 && len(validation.IsDNS1123Subdomain(r.Group)) > 0:
		return r, fmt.Errorf("%q is no API group", r.Group)
	}
	return r, nil
}

// clusterWide are cluster-scoped resources of Kubernetes that users may want to publish. For other
// resources only the API server knows the scope.
var clusterWide = []schema.GroupResource{
	{Resource: "nodes"},
	{Resource: "namespaces"},
	{Resource: "persistentvolumes"},
	{Group: "networking.k8s.io", Resource: "ingressclasses"},
	{Group: "networking.k8s.io", Resource: "ipaddresses"},
	{Group: "networking.k8s.io", Resource: "servicecidrs"},
	{Group: "gateway.networking.k8s.io", Resource: "gatewayclasses"},
}
