package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
)

// TestExclude shows that an excluded object keeps only its key, a reason that objects share, and remarks
// about its annotations, because there may be 100,000 such objects.
func TestExclude(t *testing.T) {
	key := source.Key{Kind: "Pod", Namespace: "a", Name: "b"}
	reason := &source.Skip{Reason: source.SkipNotPublished, Message: "it has finished"}
	remark := source.Skip{Reason: source.SkipUnknownAnnotation, Message: "did you mean hostname?"}
	for _, test := range []struct {
		name    string
		remarks []source.Skip
		kept    source.Object
		want    []source.Skip
	}{
		{name: "plain", kept: source.Object{Key: key}, want: []source.Skip{*reason}},
		{
			name: "with a remark", remarks: []source.Skip{remark},
			kept: source.Object{Key: key, Annotations: &source.Annotations{Remarks: []source.Skip{remark}}}, want: []source.Skip{*reason, remark},
		},
	} {
		o := source.Object{Key: key, UID: "u", Selected: true, Annotations: &source.Annotations{Hostnames: []string{"x.example.org"}, Remarks: test.remarks}, FullObject: &corev1.Pod{}}
		o.Exclude(reason)
		if diff := cmp.Diff(test.kept, o, cmpopts.IgnoreUnexported(source.Object{})); diff != "" {
			t.Errorf("%s: what is kept (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.want, o.Excluded().Skipped); diff != "" {
			t.Errorf("%s: the skips (-want +got):\n%s", test.name, diff)
		}
	}
	none := &source.Annotations{}
	allocations := testing.AllocsPerRun(100, func() {
		o := source.Object{Key: key, Annotations: none}
		o.Exclude(reason)
	})
	if allocations > 0 {
		t.Errorf("an object that is left out costs %g allocations", allocations)
	}
}
