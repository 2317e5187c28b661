package destclient

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/app/output"
)

// rowHeader names the columns of a row.
var rowHeader = [...]string{"ADDRESS", "WEIGHT", "WORKLOAD", "ZONE", "LOCALITY", "IDENTITY", "HINT"}

// rowWidths are the widths of the columns if rows are printed one by one. Most rows fit. The last
// column has no width.
var rowWidths = [len(rowHeader)]int{21, 6, 36, 12, 8, 24}

// cells returns an endpoint as cells in the order of rowHeader, with dashes for empty ones. Their
// text is untrusted.
func cells(addr netip.AddrPort, e *pb.WeightedAddr) []string {
	labels := e.GetMetricLabels()
	row := []string{addr.String(), fmt.Sprint(e.GetWeight()), workload(labels), labels["zone"], labels["zone_locality"], identity(e.GetTlsIdentity()), hint(e)}
	for i := range row {
		row[i] = cmp.Or(output.Clean(row[i]), "-")
	}
	return row
}

// pad formats cells with fixed widths.
func pad(cells []string) string {
	var text strings.Builder
	for i, c := range cells {
		fmt.Fprintf(&text, "%-*s  ", rowWidths[i], c)
	}
	return strings.TrimRight(text.String(), " ")
}

func workload(labels map[string]string) string {
	if pod := labels["pod"]; pod != "" {
		return "pod/" + pod
	}
	if external := labels["external_workload"]; external != "" {
		return "externalworkload/" + external
	}
	return ""
}

// identity returns the name of an identity. That of a Kubernetes service account is shortened to
// the account and its namespace.
func identity(t *pb.TlsIdentity) string {
	name := t.GetDnsLikeIdentity().GetName()
	if who, _, ok := strings.Cut(name, ".serviceaccount.identity."); ok {
		return who
	}
	return cmp.Or(name, t.GetUriLikeIdentity().GetUri())
}

// hint returns the protocol hint, and the authority override if there is one.
func hint(e *pb.WeightedAddr) string {
	var words []string
	h := e.GetProtocolHint()
	switch h.GetProtocol().(type) {
	case *pb.ProtocolHint_H2_:
		words = append(words, "h2")
	case *pb.ProtocolHint_Opaque_:
		words = append(words, "opaque")
	}
	if t := h.GetOpaqueTransport(); t != nil {
		words = append(words, fmt.Sprintf("transport:%d", t.GetInboundPort()))
	}
	if h != nil && len(words) == 0 {
		words = append(words, "unset")
	}
	if a := e.GetAuthorityOverride(); a != nil {
		words = append(words, "authority:"+a.GetAuthorityOverride())
	}
	return strings.Join(words, ",")
}
