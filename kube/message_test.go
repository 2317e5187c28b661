package kube

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// field is one field as the type fields finds it.
type field struct {
	Number protowire.Number
	Bytes  string
	Varint uint64
}

// fieldsOf returns the fields of a message that have this encoding, and the error at the end.
func fieldsOf(message []byte, encoding protowire.Type) (all []field, err error) {
	f := fields{rest: message}
	for f.next(encoding) {
		if encoding == protowire.BytesType {
			all = append(all, field{Number: f.number, Bytes: string(f.bytes)})
		} else {
			all = append(all, field{Number: f.number, Varint: f.varint})
		}
	}
	if f.next(encoding) {
		return all, errors.New("next went on after it had reported that there is no more")
	}
	return all, f.err
}

func TestMessageFields(t *testing.T) {
	var mixed []byte
	mixed = protowire.AppendVarint(protowire.AppendTag(mixed, 1, protowire.VarintType), 300)
	mixed = protowire.AppendString(protowire.AppendTag(mixed, 1, protowire.BytesType), "text")
	mixed = protowire.AppendFixed32(protowire.AppendTag(mixed, 2, protowire.Fixed32Type), 7)
	mixed = protowire.AppendFixed64(protowire.AppendTag(mixed, 2, protowire.Fixed64Type), 7)
	mixed = protowire.AppendTag(mixed, 3, protowire.StartGroupType)
	mixed = protowire.AppendString(protowire.AppendTag(mixed, 1, protowire.BytesType), "in a group")
	mixed = protowire.AppendTag(mixed, 3, protowire.EndGroupType)
	mixed = protowire.AppendString(protowire.AppendTag(mixed, 1000, protowire.BytesType), "")
	texts := []field{{Number: 1, Bytes: "text"}, {Number: 1000}}
	for name, test := range map[string]struct {
		message  []byte
		encoding protowire.Type
		want     []field
		err      error
	}{
		"empty":                 {encoding: protowire.BytesType},
		"bytes":                 {message: mixed, encoding: protowire.BytesType, want: texts},
		"varints":               {message: mixed, encoding: protowire.VarintType, want: []field{{Number: 1, Varint: 300}}},
		"cut off in a tag":      {message: append(bytes.Clone(mixed), 0x80), encoding: protowire.BytesType, want: texts, err: errMalformed},
		"cut off in a value":    {message: append(bytes.Clone(mixed), 0x0a, 2, 'x'), encoding: protowire.BytesType, want: texts, err: errMalformed},
		"cut off where skipped": {message: append(bytes.Clone(mixed), 0x08, 0x80), encoding: protowire.BytesType, want: texts, err: errMalformed},
		"number 0":              {message: []byte{0x02, 0}, encoding: protowire.BytesType, err: errMalformed},
		"group without end":     {message: []byte{0x0b}, encoding: protowire.BytesType, err: errMalformed},
		"unknown encoding":      {message: []byte{0x0e, 0}, encoding: protowire.BytesType, err: errMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fieldsOf(test.message, test.encoding)
			if !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

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
		{name: "cut off in the message", encoded: prefix + "\x12\x03ab", err: errMalformed.Error()},
		{name: "cut off after the message", encoded: prefix + "\x12\x03abc\x1a", err: errMalformed.Error()},
		{name: "malformed", encoded: prefix + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", err: errMalformed.Error()},
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

// The fields of a message are those that package protowire finds, and what Unwrap returns is
// what the generated decoder of the envelope finds. Nothing panics.
func FuzzUnwrap(f *testing.F) {
	f.Add([]byte("k8s\x00\x12\x03abc\x1a\x00"))
	f.Add([]byte("k8s\x00\x12\x03abc\x1a\x04gzip"))
	f.Add([]byte("k8s\x00\x1a\x01x\x12\x03abc\x1a\x00"))
	f.Add([]byte("k8s\x00\x10\x05\x1b\x08\x01\x1c\x12\x01"))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		checkFields(t, encoded)
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
		_, malformed := fieldsOf(message, protowire.BytesType)
		if envelope.Unmarshal(message) != nil || malformed != nil {
			return
		}
		if want := envelope.ContentEncoding == ""; want != (err == nil) || want && !bytes.Equal(got, envelope.Raw) {
			t.Errorf("%q and error %v, want %q of encoding %q", got, err, envelope.Raw, envelope.ContentEncoding)
		}
	})
}

// checkFields compares the fields of a message with those that package protowire finds.
func checkFields(t *testing.T, message []byte) {
	t.Helper()
	for _, encoding := range []protowire.Type{protowire.BytesType, protowire.VarintType} {
		var want []field
		var wantErr error
		for rest := message; len(rest) > 0; {
			number, kind, n := protowire.ConsumeField(rest)
			if n < 0 {
				wantErr = errMalformed
				break
			}
			_, _, tag := protowire.ConsumeTag(rest)
			if value := rest[tag:n]; kind == encoding && encoding == protowire.BytesType {
				b, _ := protowire.ConsumeBytes(value)
				want = append(want, field{Number: number, Bytes: string(b)})
			} else if kind == encoding {
				v, _ := protowire.ConsumeVarint(value)
				want = append(want, field{Number: number, Varint: v})
			}
			rest = rest[n:]
		}
		got, err := fieldsOf(message, encoding)
		if !errors.Is(err, wantErr) {
			t.Errorf("error %v, want %v", err, wantErr)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of encoding %d (-want +got):\n%s", encoding, diff)
		}
	}
}

// A problem names its object, whether that came as a message, decoded, or with nothing but its
// metadata.
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
		kind Kind[size]
		give func(*Table[size]) error
		want string
	}{
		"message":  {reading, func(t *Table[size]) error { _, err := t.read(message); return err }, "Pod"},
		"object":   {Retrim(Pods(), odd), func(t *Table[size]) error { t.trim(pod); return nil }, "Pod"},
		"metadata": {metadata, func(t *Table[size]) error { t.trim(partial); return nil }, "pods"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []any
			table := test.kind.Table()
			storeOf(t, binding{scope: NewScope("local"), report: func(of ObjectRef, p Problem) { got = append(got, of, p) }}, table)
			if err := test.give(table); err != nil {
				t.Fatal(err)
			}
			want := []any{ObjectRef{Kind: test.want, Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}, problem}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// A message whose metadata can't be read is named by its kind at least.
func TestProblemOfAMalformedMessage(t *testing.T) {
	want := ObjectRef{Kind: "Pod"}
	if got := messageOf(Pods().Form, corev1.SchemeGroupVersion.WithResource("pods"), []byte{0x0a, 0x05}); got != want {
		t.Errorf("it is named %+v, want %+v", got, want)
	}
}
