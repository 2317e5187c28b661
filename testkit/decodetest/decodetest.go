// Package decodetest has what the tests of the API types (api/...) have in common: [File] decodes
// an object in YAML as client-go does, and [RoundTrip] checks that decoding is tolerant and loses
// nothing.
//
// # Concurrency
//
// All functions may be called from any goroutine.
package decodetest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// File decodes an object in YAML. addToScheme registers its kind.
func File[T runtime.Object](t testing.TB, path string, addToScheme func(*runtime.Scheme) error) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := addToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return object.(T)
}

// RoundTrip checks that well-formed JSON is decoded without an error, and that the result, without
// its problem, is the same after it was encoded and decoded. It returns that result, or nil if data
// isn't JSON.
func RoundTrip[T any](t testing.TB, data []byte, withoutProblem func(*T)) *T {
	t.Helper()
	if !json.Valid(data) {
		return nil
	}
	var part, again T
	if err := json.Unmarshal(data, &part); err != nil {
		t.Fatalf("well-formed input failed: %v", err)
	}
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatalf("encode %+v: %v", part, err)
	}
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if withoutProblem(&part); !equality.Semantic.DeepEqual(part, again) {
		t.Errorf("%s became %s:\n%s", data, text, cmp.Diff(part, again))
	}
	return &part
}
