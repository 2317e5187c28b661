package network

import (
	"bytes"
	"cmp"
	"encoding/json"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufPrefix is the prefix of an object that Kubernetes has encoded as protobuf.
var protobufPrefix = []byte("k8s\x00")

// readBody adds the fields of a request body: the name of a created object, or the prefix of a generated
// name, and the holder of a Lease. It ignores a body that isn't an object in JSON or protobuf, because the
// API server refuses it, or it is another form of patch.
func (r *request) readBody(body []byte) {
	object := decode(body)
	if r.Name == "" && r.Verb == "create" {
		r.Name = object.Metadata.Name
		if r.Name == "" {
			r.Name = object.Metadata.GenerateName
		}
	}
	r.Precondition = cmp.Or(object.Metadata.ResourceVersion, object.Preconditions.ResourceVersion, object.Preconditions.UID)
	if r.Resource == "leases" {
		r.Holder = object.Spec.HolderIdentity
	}
}

// object has the decoded fields of any object.
type object struct {
	Metadata struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		// ResourceVersion is the replaced version.
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	// Preconditions are those of DeleteOptions.
	Preconditions struct {
		ResourceVersion string `json:"resourceVersion"`
		UID             string `json:"uid"`
	} `json:"preconditions"`
	Spec struct {
		HolderIdentity string `json:"holderIdentity"`
	} `json:"spec"`
}

func decode(body []byte) (o object) {
	encoded, isProtobuf := bytes.CutPrefix(body, protobufPrefix)
	if isProtobuf {
		return decodeProtobuf(encoded)
	}
	// A field of another type, such as the spec of another kind, doesn't prevent decoding of the other
	// fields.
	_ = json.Unmarshal(body, &o)
	return o
}

// decodeProtobuf decodes the metadata, which have the same field number in all kinds, and the holder of a
// Lease.
func decodeProtobuf(encoded []byte) (o object) {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(encoded); err != nil {
		return o
	}
	if envelope.Kind == "DeleteOptions" {
		var options metav1.DeleteOptions
		if err := options.Unmarshal(envelope.Raw); err != nil {
			return o
		}
		if p := options.Preconditions; p != nil {
			if p.ResourceVersion != nil {
				o.Preconditions.ResourceVersion = *p.ResourceVersion
			}
			if p.UID != nil {
				o.Preconditions.UID = string(*p.UID)
			}
		}
		return o
	}
	var any metav1.PartialObjectMetadata
	if err := any.Unmarshal(envelope.Raw); err != nil {
		return o
	}
	o.Metadata.Name, o.Metadata.GenerateName, o.Metadata.ResourceVersion = any.Name, any.GenerateName, any.ResourceVersion
	var lease coordinationv1.Lease
	if envelope.Kind == "Lease" && lease.Unmarshal(envelope.Raw) == nil && lease.Spec.HolderIdentity != nil {
		o.Spec.HolderIdentity = *lease.Spec.HolderIdentity
	}
	return o
}
