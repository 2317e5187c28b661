package watched

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/heaptest"
)

// A pair of a Service and a pod costs no more than a pointer and the spare room of its list, because a
// namespace may have thousands of both. That the times are right, package endpoints tests.
func TestTriggersAreSmall(t *testing.T) {
	const services, pods = 200, 1000
	var list []*Pod
	for i := range pods {
		list = append(list, &Pod{Namespace: "ns", Name: fmt.Sprint("pod-", i), Ready: corev1.ConditionTrue, ReadySince: time.Unix(int64(i+1), 0)})
	}
	triggers := NewTriggers()
	before := heaptest.InUse()
	for range 2 {
		for i := range services {
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("service-", i)}}
			triggers.Next(service, append([]*Pod(nil), list...))
		}
	}
	if got := int(heaptest.InUse()-before) / (services * pods); got > 16 {
		t.Errorf("a pair of a Service and a pod takes %d bytes, want at most 16", got)
	}
	runtime.KeepAlive(triggers)
}
