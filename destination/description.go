package destination

import (
	"fmt"
	"slices"
	"sync"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

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

func (d *description) encoded() ([]byte, error) {
	d.once.Do(func() {
		p, err := describeProfile(d.profile, d.port)
		if err == nil {
			d.wire, err = marshal(p)
		}
		if err == nil {
			err = checkNesting(d.wire)
		}
		d.err = err
	})
	return d.wire, d.err
}

// maxNesting is how many messages within one another proxies decode. They can't read a stream with more, and
// would retry it for ever.
const maxNesting = 100

// checkNesting returns an error if proxies can't decode a profile.
func checkNesting(wire []byte) error {
	if (proto.UnmarshalOptions{RecursionLimit: maxNesting}).Unmarshal(wire, &pb.DestinationProfile{}) != nil {
		return fmt.Errorf("the conditions are nested too deeply: proxies decode at most %d messages within one another", maxNesting)
	}
	return nil
}
