package libdns_test

import (
	"errors"
	"testing"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// When the zone can't be read after a failure, nobody knows what was made: the error says nothing,
// unless the service wants a pause. After a change that the module says it made, it is the same.
func TestUnknownOutcome(t *testing.T) {
	for failure, want := range map[string]error{"boom": nil, "429": provider.ErrThrottled} {
		each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
			p := open(t, input(), m)
			broken := false
			s.Fail = func(method string, rr lib.RR) error {
				switch {
				case broken && method == "GetRecords":
					return errors.New("no list")
				case rr.Type == "A" && method != "GetRecords":
					broken = true
					return errors.New(failure)
				}
				return nil
			}
			err := p.Apply(t.Context(), zone, []dns.Change{{New: set("www", dns.TypeA, 300, "192.0.2.1", "192.0.2.2")}, {New: ownershipRecord("www", ours)}})
			for _, class := range []error{provider.ErrRejected, provider.ErrStale, provider.ErrCredentials, provider.ErrThrottled} {
				if err == nil || errors.Is(err, class) != (class == want) {
					t.Errorf("%s: error %v is %v: %v", failure, err, class, class != want)
				}
			}
			if provider.NothingMade(err) {
				t.Errorf("%s: %v says that nothing was made", failure, err)
			}
			if each := (*provider.ApplyError)(nil); errors.As(err, &each) {
				t.Errorf("%s: %v says what was made", failure, err)
			}
		})
	}
}
