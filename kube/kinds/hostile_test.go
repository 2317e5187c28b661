package kinds

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/kube"
)

// annotatedService returns a Service with one annotation.
func annotatedService(annotation, value string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", Annotations: map[string]string{annotation: value}}}
}

// distinctMembers returns a list of as many members, which all differ.
func distinctMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "m%d@e,", i)
	}
	return b.String()
}

// M4: each member of a federated Service was compared with all before it. One annotation of 42,000 members
// stopped all changes of Services for 12 seconds.
func TestManyMembersM4(t *testing.T) {
	svc, problems := trimService(kube.Scope{}, annotatedService(remoteDiscovery, distinctMembers(300)))
	if n := len(svc.Federation.Remote); n != 256 || len(problems) != 1 {
		t.Errorf("%d members and %d problems of 300 members, want 256 and 1", n, len(problems))
	}
}

// M5: each of 125,000 bad fragments of one annotation was a problem, and a line of the log, at each event of its Service.
func TestProblemsOfOneObjectM5(t *testing.T) {
	for _, annotation := range []string{remoteDiscovery, opaquePortsAnnotation} {
		_, problems := trimService(kube.Scope{}, annotatedService(annotation, strings.Repeat("x,", 125_000)))
		if len(problems) == 0 || len(problems) > 9 {
			t.Errorf("%s: %d problems, want 1 to 9", annotation, len(problems))
		}
	}
}
