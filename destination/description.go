package destination

import (
	"slices"
	"sync"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/streams"
)

// description is the encoded fields of a ServiceProfile. All profile views of the same ServiceProfile share
// it, because it may have a megabyte, and clients choose the port and the namespace of a query.
type description struct {
	descriptionKey
	once sync.Once
	wire []byte
	err  error
}

// descriptionKey identifies a description. The zero key is for none.
type descriptionKey struct {
	profile *catalog.ServiceProfile
	// port completes the authorities of dstOverrides; 0 if all have a port.
	port uint16
}

// descriptions has the descriptions in use.
type descriptions = streams.Map[descriptionKey, *description]

// descriptionKeyOf returns the key of the description in the response to a query; zero for none.
func descriptionKeyOf(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) descriptionKey {
	sp := s.Profile
	switch {
	case s.Result == catalog.EndpointFound, s.Result == catalog.PortNotDeclared, sp == nil, sp.Invalid:
		return descriptionKey{}
	case slices.ContainsFunc(sp.DstOverrides, func(d catalog.WeightedDst) bool { return !hasPort(d.Authority) }):
		return descriptionKey{sp, q.Port}
	default:
		return descriptionKey{profile: sp}
	}
}

// encoded returns the encoded fields.
func (d *description) encoded() ([]byte, error) {
	d.once.Do(func() {
		p, err := describeProfile(d.profile, d.port)
		if err == nil {
			d.wire, err = marshal(p)
		}
		d.err = err
	})
	return d.wire, d.err
}
