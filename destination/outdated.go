package destination

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The resources that say whether a Service, a hostname of it or a linked cluster exists.
var (
	serviceResources  = []string{"services"}
	hostnameResources = []string{"services", "endpointslices", "endpoints", "pods"}
	clusterResources  = []string{"services", "secrets"}
)

// unlessOutdated returns the status of a call, but no NotFound that may be wrong because changes of
// these resources can't be seen: another replica may know what was asked for.
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
