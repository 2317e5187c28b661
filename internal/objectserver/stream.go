package objectserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
)

// stream writes the events of a watch, in the requested encoding.
type stream struct {
	events streaming.Encoder
	object func(*unstructured.Unstructured) ([]byte, error)
	flush  func()
}

// newStream starts the response to a watch request.
func newStream(w http.ResponseWriter, accept string, kind schema.GroupVersionKind) (*stream, error) {
	contentType, _, _ := strings.Cut(accept, ";")
	s := &stream{flush: func() { _ = http.NewResponseController(w).Flush() }}
	var events runtime.Encoder
	var framer runtime.Framer
	switch {
	case accept == protobufType && scheme.Scheme.Recognizes(kind):
		objects := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
		s.object = func(obj *unstructured.Unstructured) ([]byte, error) { return encodeTyped(objects, obj) }
		events, framer = protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme), protobuf.LengthDelimitedFramer
		contentType += ";stream=watch"
	case accept == jsonType:
		s.object = func(obj *unstructured.Unstructured) ([]byte, error) { return obj.MarshalJSON() }
		events = kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjson.SerializerOptions{})
		framer = kjson.Framer
	default:
		return nil, fmt.Errorf("%s is not served as %q; accept %s", kind, accept, jsonType)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	s.flush()
	s.events = streaming.NewEncoder(framer.NewFrameWriter(writer{w}), events)
	return s, nil
}

// writer hides the other methods of a response.
type writer struct{ io.Writer }

func (s *stream) send(e event) error {
	raw, err := s.object(e.object)
	if err != nil {
		return err
	}
	defer s.flush()
	return s.events.Encode(&metav1.WatchEvent{Type: string(e.kind), Object: runtime.RawExtension{Raw: raw}})
}

// encodeTyped encodes an object of a kind that has a Go type.
func encodeTyped(encoder runtime.Encoder, obj *unstructured.Unstructured) ([]byte, error) {
	typed, err := typedOf(obj)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(encoder, typed)
}

// typedOf converts an object to the Go type of its kind. Like the API server, it drops the fields that the
// type lacks.
func typedOf(obj *unstructured.Unstructured) (runtime.Object, error) {
	typed, err := scheme.Scheme.New(obj.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		// The error of json names the field, unlike the converter's.
		if text, jsonErr := obj.MarshalJSON(); jsonErr == nil {
			err = cmp.Or(json.Unmarshal(text, typed), err)
		}
		return nil, fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return typed, nil
}
