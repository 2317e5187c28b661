package destination

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The resources that decide whether a Service, a hostname of it or a linked cluster exists.
var (
	serviceResources  = []string{"services"}
	hostnameResources = []string{"services", "endpointslices", "endpoints", "pods"}
	clusterResources  = []string{"services", "secrets"}
)

// unlessOutdated returns the status of a call. If the watch of one of these resources is interrupted, it
// replaces NotFound by Unavailable, because another replica may have the object.
func (c *Config) unlessOutdated(err error, resources []string) error {
	if c.Outdated == nil || status.Code(err) != codes.NotFound {
		return err
	}
	why := c.Outdated(resources...)
	if why == "" {
		return err
	}
	return status.Errorf(codes.Unavailable, "%s, as far as this replica knows: %s", status.Convert(err).Message(), why)
}
