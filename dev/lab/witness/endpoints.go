package witness

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/internal/sanitize"
)

// endpoints are the endpoints that one stream of Get has reported. They belong to one goroutine.
type endpoints struct {
	exists    bool
	addresses map[string]string
}

// apply applies an update as the proxy does. The result lacks the fields that identify the stream.
func (s *endpoints) apply(update *pb.Update) history.Stream {
	e := history.Stream{Event: history.StreamUpdated}
	var problems []string
	switch u := update.GetUpdate().(type) {
	case *pb.Update_Add:
		e.Added, problems = s.add(u.Add)
	case *pb.Update_Remove:
		e.Removed, problems = s.remove(u.Remove)
	case *pb.Update_NoEndpoints:
		e.Removed = slices.Collect(maps.Keys(s.addresses))
		s.exists, s.addresses = u.NoEndpoints.GetExists(), nil
	default:
		problems = []string{"an update says nothing"}
	}
	slices.Sort(e.Added)
	slices.Sort(e.Removed)
	e.Exists, e.Addresses, e.Problem = s.exists, maps.Clone(s.addresses), cut(strings.Join(problems, "; "))
	return e
}

// add adds or changes addresses. An address that is twice in one update is a problem.
func (s *endpoints) add(set *pb.WeightedAddrSet) (added, problems []string) {
	s.exists = true
	if s.addresses == nil {
		s.addresses = map[string]string{}
	}
	for _, a := range set.GetAddrs() {
		address, err := addressOf(a.GetAddr())
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if slices.Contains(added, address) {
			problems = append(problems, address+" is added twice in one update")
		}
		added = append(added, address)
		s.addresses[address] = AddressText(a, set.GetMetricLabels())
	}
	return added, problems
}

// remove removes addresses. A missing address is a problem.
func (s *endpoints) remove(set *pb.AddrSet) (removed, problems []string) {
	for _, a := range set.GetAddrs() {
		address, err := addressOf(a)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if _, there := s.addresses[address]; !there {
			problems = append(problems, address+" is removed and wasn't there")
		}
		removed = append(removed, address)
		delete(s.addresses, address)
	}
	return removed, problems
}

// addressOf returns the address as ip:port.
func addressOf(a *net.TcpAddress) (string, error) {
	var ip netip.Addr
	switch v := a.GetIp().GetIp().(type) {
	case *net.IPAddress_Ipv4:
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], v.Ipv4)
		ip = netip.AddrFrom4(b)
	case *net.IPAddress_Ipv6:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], v.Ipv6.GetFirst())
		binary.BigEndian.PutUint64(b[8:], v.Ipv6.GetLast())
		ip = netip.AddrFrom16(b)
	}
	port := a.GetPort()
	if !ip.IsValid() || port == 0 || port > 1<<16-1 {
		return "", fmt.Errorf("%.200q is no address", a)
	}
	return netip.AddrPortFrom(ip, uint16(port)).String(), nil
}

// AddressText returns the fields of an address other than the address itself, for the values of
// [history.Stream.Addresses]. The format is the JSON mapping of protobuf with sorted keys and without spaces,
// with the labels of the set among the address' own: {"metricLabels":{"pod":"web-0"},"weight":10000}.
func AddressText(a *pb.WeightedAddr, setLabels map[string]string) string {
	rest := proto.CloneOf(a)
	rest.Addr = nil
	labels := maps.Clone(setLabels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, a.GetMetricLabels())
	rest.MetricLabels = labels
	return string(canonical(rest))
}

// ProfileJSON returns a response of GetProfile for [history.Stream.Profile], in the JSON mapping of protobuf
// with sorted keys and without spaces.
func ProfileJSON(p *pb.DestinationProfile) json.RawMessage { return canonical(p) }

// canonical returns the same text for equal messages, which protojson doesn't guarantee.
func canonical(m proto.Message) json.RawMessage {
	text, err := protojson.Marshal(m)
	if err != nil { // impossible for a message from the wire
		panic(fmt.Sprintf("write %T as JSON: %v", m, err))
	}
	var value any
	values := json.NewDecoder(bytes.NewReader(text))
	values.UseNumber()
	if err := values.Decode(&value); err != nil {
		panic(fmt.Sprintf("read %T as JSON: %v", m, err))
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("write %T as JSON: %v", m, err))
	}
	return sorted
}

// maxProblem is the maximum length of a problem, which has text of the server.
const maxProblem = 500

func cut(problem string) string { return sanitize.Shorten(problem, maxProblem) }
