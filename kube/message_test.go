package kube

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/wire"
)

// An object comes out of its envelope, or there is an error and nothing comes out.
func TestUnwrap(t *testing.T) {
	const prefix = "k8s\x00"
	for _, test := range []struct {
		name, encoded, want, err string
	}{
		{name: "nothing", err: "not Kubernetes protobuf"},
		{name: "JSON", encoded: "{}", err: "not Kubernetes protobuf"},
		{name: "part of the prefix", encoded: prefix[:3], err: "not Kubernetes protobuf"},
		{name: "empty envelope", encoded: prefix},
		{name: "message", encoded: prefix + "\x12\x03abc", want: "abc"},
		{name: "empty encoding", encoded: prefix + "\x12\x03abc\x1a\x00", want: "abc"},
		{name: "content type and kind", encoded: prefix + "\x0a\x02\x0a\x00\x12\x03abc\x22\x01t", want: "abc"},
		{name: "the last message counts", encoded: prefix + "\x12\x01a\x12\x01b", want: "b"},
		{name: "message that is a number", encoded: prefix + "\x10\x05\x12\x03abc", want: "abc"},
		{name: "encoding that is a number", encoded: prefix + "\x12\x03abc\x18\x05", want: "abc"},
		{name: "unknown field", encoded: prefix + "\x12\x03abc\x7a\x01x", want: "abc"},
		{name: "the last encoding counts", encoded: prefix + "\x1a\x04gzip\x12\x03abc\x1a\x00", want: "abc"},
		{name: "unknown encoding", encoded: prefix + "\x12\x03abc\x1a\x04gzip", err: `unknown content encoding "gzip"`},
		{name: "cut off in the message", encoded: prefix + "\x12\x03ab", err: wire.ErrMalformed.Error()},
		{name: "cut off after the message", encoded: prefix + "\x12\x03abc\x1a", err: wire.ErrMalformed.Error()},
		{name: "malformed", encoded: prefix + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", err: wire.ErrMalformed.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := unwrap([]byte(test.encoded))
			if string(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q and error %v, want %q and %q", got, err, test.want, test.err)
			}
			if err != nil && got != nil {
				t.Errorf("%q came with the error %v", got, err)
			}
			if cap(got) != len(got) {
				t.Errorf("appending to the message writes into the %d bytes behind it", cap(got)-len(got))
			}
		})
	}
}

// What unwrap returns is what the generated decoder of the envelope finds. Nothing panics.
func FuzzUnwrap(f *testing.F) {
	f.Add([]byte("k8s\x00\x12\x03abc\x1a\x00"))
	f.Add([]byte("k8s\x00\x12\x03abc\x1a\x04gzip"))
	f.Add([]byte("k8s\x00\x1a\x01x\x12\x03abc\x1a\x00"))
	f.Add([]byte("k8s\x00\x10\x05\x1b\x08\x01\x1c\x12\x01"))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		got, err := unwrap(encoded)
		if !isProtobuf(encoded) {
			if err == nil {
				t.Fatalf("%q came out of no Kubernetes protobuf", got)
			}
			return
		}
		// The generated decoder refuses known fields in other wire types, and takes groups that
		// end as other groups; both are left out.
		var envelope runtime.Unknown
		message := encoded[len(protobufPrefix):]
		r := wire.Read(message)
		for r.Next(wire.Fields{}) {
		}
		if envelope.Unmarshal(message) != nil || r.Err() != nil {
			return
		}
		if want := envelope.ContentEncoding == ""; want != (err == nil) || want && !bytes.Equal(got, envelope.Raw) {
			t.Errorf("%q and error %v, want %q of encoding %q", got, err, envelope.Raw, envelope.ContentEncoding)
		}
	})
}

// A problem names its object, whether that came as a message, decoded, or with nothing but its
// metadata, and the cluster unless that is our own.
func TestProblemsNameTheirObject(t *testing.T) {
	pod := somePod(3)
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	problem := Problem{Field: "spec.x", Reason: "it is odd"}
	odd := func(Scope, runtime.Object) (*size, []Problem) { return nil, []Problem{problem} }
	reading := Retrim(Pods(), odd)
	reading.Read = func(Scope, []byte) (*size, []Problem, error) { return nil, []Problem{problem}, nil }
	partial := partialOf(pod.Namespace, pod.Name, "")
	partial.Kind, partial.UID = "PartialObjectMetadata", pod.UID
	metadata := Retrim(Pods(), odd)
	metadata.Form = Metadata()
	for name, test := range map[string]struct {
		cluster string
		kind    Kind[size]
		give    func(*Table[size]) error
		want    objectmeta.Problem
	}{
		"message":  {DefaultName, reading, func(t *Table[size]) error { _, err := t.read(message); return err }, objectmeta.Problem{Kind: "Pod"}},
		"object":   {"east", Retrim(Pods(), odd), func(t *Table[size]) error { t.trim(pod); return nil }, objectmeta.Problem{Kind: "Pod", Cluster: "east"}},
		"metadata": {DefaultName, metadata, func(t *Table[size]) error { t.trim(partial); return nil }, objectmeta.Problem{Kind: "pods"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []objectmeta.Problem
			table := test.kind.Table()
			storeOf(t, binding{scope: NewScope(test.cluster), report: func(p objectmeta.Problem) { got = append(got, p) }}, table)
			if err := test.give(table); err != nil {
				t.Fatal(err)
			}
			want := test.want
			want.Namespace, want.Name, want.UID, want.Field, want.Reason = pod.Namespace, pod.Name, string(pod.UID), problem.Field, problem.Reason
			if diff := cmp.Diff([]objectmeta.Problem{want}, got); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// A message whose metadata can't be read is named by its kind at least.
func TestProblemOfAMalformedMessage(t *testing.T) {
	want := objectmeta.Problem{Kind: "Pod"}
	if got := messageOf(Pods().Form, corev1.SchemeGroupVersion.WithResource("pods"), []byte{0x0a, 0x05}); got != want {
		t.Errorf("it is named %+v, want %+v", got, want)
	}
}
