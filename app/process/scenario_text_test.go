package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/destclient"
)

// messageText returns a message as a transcript has it: with every field, and the addresses
// sorted.
func messageText(u *pb.Update) string {
	switch m := u.GetUpdate().(type) {
	case *pb.Update_Add:
		return "add " + labelText(m.Add.GetMetricLabels()) + "\n" + addedText(m.Add)
	case *pb.Update_Remove:
		var lines []string
		for _, a := range m.Remove.GetAddrs() {
			lines = append(lines, "  "+destclient.AddrPort(a).String()+"\n")
		}
		slices.Sort(lines)
		return "remove\n" + strings.Join(lines, "")
	case *pb.Update_NoEndpoints:
		return fmt.Sprintf("no_endpoints, exists %v\n", m.NoEndpoints.GetExists())
	default:
		return fmt.Sprintf("unknown message %v\n", u)
	}
}

func addedText(set *pb.WeightedAddrSet) string {
	sorted := slices.SortedFunc(slices.Values(set.GetAddrs()), func(a, b *pb.WeightedAddr) int {
		return destclient.AddrPort(a.GetAddr()).Compare(destclient.AddrPort(b.GetAddr()))
	})
	var text strings.Builder
	for _, a := range sorted {
		text.WriteString(addressText(a))
	}
	return text.String()
}

// addressText returns two lines: what the client does with the address, and its labels.
func addressText(a *pb.WeightedAddr) string {
	words := []string{fmt.Sprintf("weight %d", a.GetWeight()), hintText(a.GetProtocolHint())}
	if h := a.GetProtocolHint(); h.GetOpaqueTransport() != nil {
		words = append(words, fmt.Sprintf("transport %d", h.GetOpaqueTransport().GetInboundPort()))
	}
	if i := a.GetTlsIdentity(); i != nil {
		words = append(words, identityText(i))
	}
	if a.AuthorityOverride != nil {
		words = append(words, "authority "+a.GetAuthorityOverride().GetAuthorityOverride())
	}
	if a.Http2 != nil {
		words = append(words, "http2 "+jsonText(a.GetHttp2()))
	}
	rest := proto.CloneOf(a)
	rest.Addr, rest.Weight, rest.ProtocolHint, rest.TlsIdentity = nil, 0, nil, nil
	rest.AuthorityOverride, rest.Http2, rest.MetricLabels = nil, nil, nil
	if proto.Size(rest) > 0 {
		words = append(words, "and "+jsonText(rest))
	}
	return fmt.Sprintf("  %s %s\n    %s\n", destclient.AddrPort(a.GetAddr()), strings.Join(words, ", "), labelText(a.GetMetricLabels()))
}

func hintText(h *pb.ProtocolHint) string {
	switch h.GetProtocol().(type) {
	case *pb.ProtocolHint_H2_:
		return "hint h2"
	case *pb.ProtocolHint_Opaque_:
		return "hint opaque"
	}
	if h != nil {
		return "hint empty"
	}
	return "no hint"
}

func identityText(i *pb.TlsIdentity) string {
	text := "identity "
	switch s := i.GetStrategy().(type) {
	case *pb.TlsIdentity_DnsLikeIdentity_:
		text += "dns:" + s.DnsLikeIdentity.GetName()
	case *pb.TlsIdentity_UriLikeIdentity_:
		text += "uri:" + s.UriLikeIdentity.GetUri()
	}
	switch name := i.GetServerName(); {
	case name == nil:
		return text + " without server name"
	case "dns:"+name.GetName() == strings.TrimPrefix(text, "identity "):
		return text
	default:
		return text + " as " + name.GetName()
	}
}

func labelText(labels map[string]string) string {
	words := []string{}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, k+"="+labels[k])
	}
	return "{" + strings.Join(words, " ") + "}"
}

// jsonText returns compact JSON. The spaces of protojson differ between builds.
func jsonText(m proto.Message) string {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err.Error()
	}
	return compact.String()
}

func endText(err error) string {
	if errors.Is(err, io.EOF) {
		return "end\n"
	}
	s := status.Convert(err)
	return fmt.Sprintf("error %s: %s\n", s.Code(), s.Message())
}

// knowledge is what a client knows: each address as it was last sent, with the labels of its
// set.
type knowledge map[netip.AddrPort]string

// learn applies a message, and says what is wrong with it.
func (k knowledge) learn(u *pb.Update, first bool) error {
	for _, a := range u.GetAdd().GetAddrs() {
		k[destclient.AddrPort(a.GetAddr())] = labelText(u.GetAdd().GetMetricLabels()) + "\n" + addressText(a)
	}
	for _, a := range u.GetRemove().GetAddrs() {
		if _, known := k[destclient.AddrPort(a)]; !known {
			return fmt.Errorf("%v was removed and is not known", destclient.AddrPort(a))
		}
		delete(k, destclient.AddrPort(a))
	}
	switch {
	case u.GetRemove() != nil && (first || len(u.GetRemove().GetAddrs()) == 0):
		return errors.New("a remove was empty, or came first")
	case u.GetAdd() != nil && len(u.GetAdd().GetAddrs()) == 0:
		return errors.New("an add was empty")
	case u.GetNoEndpoints() != nil && !first:
		return errors.New("no_endpoints was not the first message")
	}
	return nil
}

// lines returns the addresses, sorted.
func (k knowledge) lines() string {
	var text strings.Builder
	for _, a := range slices.SortedFunc(maps.Keys(k), netip.AddrPort.Compare) {
		text.WriteString(k[a])
	}
	return text.String()
}
