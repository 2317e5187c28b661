package externaldns

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version that the types of this package
// belong to.
var SchemeGroupVersion = schema.GroupVersion{Group: "externaldns.k8s.io", Version: "v1alpha1"}

// AddToScheme makes s know the kinds of this package. It returns no error; the
// result is there so that it fits where client-go takes such functions.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &DNSEndpoint{}, &DNSEndpointList{}, &DNSRecord{}, &DNSRecordList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
