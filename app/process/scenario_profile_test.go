package process

import (
	"fmt"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/app/destclient"
)

// profileMessageText returns a profile as a transcript has it: with every field.
func profileMessageText(p *pb.DestinationProfile) string {
	if proto.Size(p) == 0 {
		return "profile, empty\n"
	}
	words := []string{"profile"}
	if p.GetFullyQualifiedName() != "" {
		words = append(words, p.GetFullyQualifiedName())
	}
	if p.GetOpaqueProtocol() {
		words = append(words, "opaque")
	}
	if b := destclient.RetryBudget(p.GetRetryBudget()); b != "ratio 0.2, at least 10/s, ttl 10s" {
		words = append(words, "budget "+b)
	}
	var text strings.Builder
	fmt.Fprintln(&text, strings.Join(words, ", "))
	if r := p.GetParentRef().GetResource(); r != nil {
		fmt.Fprintf(&text, "  of %s %s %s/%s port %d\n", r.GetGroup(), r.GetKind(), r.GetNamespace(), r.GetName(), r.GetPort())
	}
	if r := p.GetProfileRef().GetResource(); r.GetName() != "" {
		fmt.Fprintf(&text, "  by %s%s %s/%s\n", r.GetGroup(), r.GetKind(), r.GetNamespace(), r.GetName())
	}
	for _, r := range p.GetRoutes() {
		fmt.Fprintf(&text, "  route %s\n", jsonText(r))
	}
	for _, d := range p.GetDstOverrides() {
		fmt.Fprintf(&text, "  override %s\n", jsonText(d))
	}
	if p.GetEndpoint() != nil {
		text.WriteString(addressText(p.GetEndpoint()))
	}
	return text.String()
}
