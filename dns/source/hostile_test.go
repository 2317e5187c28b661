package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
)

// TestManyAnnotations shows that annotations that fill the 256 KiB which Kubernetes allows give a limited
// number of properties and problems, and that each of them is compared with known names only while there
// is room for a remark.
func TestManyAnnotations(t *testing.T) {
	plugin := source.Plugin{Name: "service", Annotations: source.CommonAnnotations, Properties: true}
	s := annotationReader(t, plugin)
	many := func(format string) map[string]string {
		all := map[string]string{}
		for i := range 5000 {
			all[fmt.Sprintf(format, i)] = ""
		}
		return all
	}
	const prefix = "external-dns.kubernetes.io/"
	for name, all := range map[string]map[string]string{
		"unknown names": many(prefix + "hostnme-%05d"), "unknown prefixes": many("external-dns/hostnme-%05d"),
	} {
		read := s.ReadAnnotations(all)
		if n := len(read.Remarks); n != 9 {
			t.Errorf("%s: %d remarks, want 8 and one that there are more", name, n)
		}
		// A comparison allocates the list of known names several times.
		if n := testing.AllocsPerRun(1, func() { s.ReadAnnotations(all) }); n > 15000 {
			t.Errorf("%s: %v allocations for 5000 annotations, want no comparison after the limit", name, n)
		}
	}
	read := s.ReadAnnotations(many(prefix + "aws-x%05d"))
	if len(read.Properties) != source.PropertyLimit || read.Properties[0].Name != "aws/x00000" {
		t.Errorf("%d properties, want the first %d", len(read.Properties), source.PropertyLimit)
	}
	if len(read.Problems) != 1 || !strings.Contains(read.Problems[0].Reason, "5000 items") {
		t.Errorf("problems %+v, want one about the number of properties", read.Problems)
	}
}
