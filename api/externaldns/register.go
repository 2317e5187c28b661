package externaldns

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the group and version of the types of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "externaldns.k8s.io", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package in s. It always returns nil; the result is for functions of
// client-go that expect it.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &DNSEndpoint{}, &DNSEndpointList{}, &DNSRecord{}, &DNSRecordList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}
