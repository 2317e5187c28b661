package wire

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Hand-written field numbers equal those of the API types (M9).
func TestNumbersOfMetadata(t *testing.T) {
	if n := NumberOf[metav1.PartialObjectMetadata]("metadata"); n != Metadata {
		t.Errorf("metadata has the number %d", n)
	}
	for name, want := range map[string]int{
		"name": MetadataName, "namespace": MetadataNamespace, "uid": MetadataUID, "resourceVersion": MetadataResourceVersion,
		"generation": MetadataGeneration, "creationTimestamp": MetadataCreationTimestamp, "deletionTimestamp": MetadataDeletionTimestamp,
		"labels": MetadataLabels, "managedFields": MetadataManagedFields,
	} {
		if n := NumberOf[metav1.ObjectMeta](name); n != want {
			t.Errorf("%s has the number %d, want %d", name, n, want)
		}
	}
}

type odd struct {
	Double float64 `protobuf:"fixed64,1,opt,name=double"`
	Far    string  `protobuf:"bytes,64,opt,name=far"`
}

func TestFieldsOf(t *testing.T) {
	want := Fields{Bytes: 1<<MetadataName | 1<<MetadataLabels, Varints: 1 << MetadataGeneration}
	if got := FieldsOf[metav1.ObjectMeta]("name", "generation", "labels"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, f := range map[string]func(){
		"no such field":  func() { NumberOf[metav1.ObjectMeta]("nonesuch") },
		"other encoding": func() { FieldsOf[odd]("double") },
		"too far":        func() { FieldsOf[odd]("far") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
