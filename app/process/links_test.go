package process

import (
	"testing"

	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// M14: any problem of a Service whose field contained "[multicluster.linkerd.io/" got an Event
// about its members. Only a problem with a member does.
func TestMembersGetEvents(t *testing.T) {
	const member = "metadata.annotations[multicluster.linkerd.io/remote-discovery][2]"
	for name, tt := range map[string]struct {
		problem objectmeta.Problem
		want    string
	}{
		"a member":               {objectmeta.Problem{Kind: "Service", Field: member, Reason: "no cluster"}, "Warning MemberUnusable " + member + ": no cluster"},
		"another kind":           {objectmeta.Problem{Kind: "Pod", Field: member, Reason: "no cluster"}, ""},
		"a label":                {objectmeta.Problem{Kind: "Service", Field: "metadata.labels[multicluster.linkerd.io/remote-service]", Reason: "empty"}, ""},
		"another annotation":     {objectmeta.Problem{Kind: "Service", Field: "metadata.annotations[multicluster.linkerd.io/other][2]", Reason: "empty"}, ""},
		"text that says as much": {objectmeta.Problem{Kind: "Service", Field: "spec.ports[" + member + "]", Reason: "empty"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fake := record.NewFakeRecorder(1)
			l := &links{recorder: fake}
			l.report(tt.problem)
			got := ""
			select {
			case got = <-fake.Events:
			default:
			}
			if got != tt.want {
				t.Errorf("the Event is %q, want %q", got, tt.want)
			}
		})
	}
}
