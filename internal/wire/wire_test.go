package wire

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// every selects all fields that can be wanted.
var every = Fields{Bytes: math.MaxUint64, Varints: math.MaxUint64}

// found is a field as a Reader found it.
type found struct {
	Number     int
	Bytes      []byte
	Varint     uint64
	Start, End int
}

// readAll returns the wanted fields of a message.
func readAll(message []byte, want Fields) (all []found, err error) {
	r := Read(message)
	for r.Next(want) {
		f := found{Number: r.Number, Start: r.Start(), End: r.End()}
		if want.Bytes>>r.Number&1 != 0 && protowire.Type(message[r.Start()]&7) == protowire.BytesType {
			f.Bytes = r.Bytes()
		} else {
			f.Varint = r.Varint
		}
		all = append(all, f)
	}
	return all, r.Err()
}

// parse returns the fields of a message as package protowire finds them.
func parse(message []byte) (all []found, err error) {
	for at := 0; at < len(message); {
		number, kind, n := protowire.ConsumeTag(message[at:])
		if n < 0 || number > protowire.MaxValidNumber {
			return all, ErrMalformed
		}
		value := message[at+n:]
		m := protowire.ConsumeFieldValue(number, kind, value)
		if m < 0 {
			return all, ErrMalformed
		}
		f := found{Number: int(number), Start: at, End: at + n + m}
		switch kind {
		case protowire.BytesType:
			f.Bytes, _ = protowire.ConsumeBytes(value)
		case protowire.VarintType:
			f.Varint, _ = protowire.ConsumeVarint(value)
		}
		all = append(all, f)
		at = f.End
	}
	return all, nil
}

// wanted returns those fields of a message that a Reader returns.
func wanted(message []byte, all []found, want Fields) (some []found) {
	for _, f := range all {
		kind := protowire.Type(message[f.Start] & 7)
		if kind == protowire.BytesType && want.Bytes>>f.Number&1 != 0 || kind == protowire.VarintType && want.Varints>>f.Number&1 != 0 {
			some = append(some, f)
		}
	}
	return some
}

// check compares the results of this package and of package protowire for a message.
func check(t *testing.T, message []byte, want Fields) {
	t.Helper()
	all, wantErr := parse(message)
	got, err := readAll(message, want)
	if !errors.Is(err, wantErr) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if some := wanted(message, all, want); !reflect.DeepEqual(got, some) { // which is a lot faster than cmp.Diff
		t.Errorf("fields (-want +got):\n%s", cmp.Diff(some, got))
	}
	for _, number := range []int{1, 16, 63} {
		checkWithout(t, message, number)
	}
}

// checkWithout compares the result of AppendWithout with that of package protowire.
func checkWithout(t *testing.T, message []byte, number int) {
	t.Helper()
	all, wantErr := parse(message)
	want := []byte("before ")
	for _, f := range all {
		kind := protowire.Type(message[f.Start] & 7)
		if f.Number != number || kind != protowire.BytesType && kind != protowire.VarintType {
			want = append(want, message[f.Start:f.End]...)
		}
	}
	got, err := AppendWithout([]byte("before "), message, number)
	if !errors.Is(err, wantErr) {
		t.Errorf("without %d: error %v, want %v", number, err, wantErr)
	}
	if err == nil && !bytes.Equal(got, want) {
		t.Errorf("without %d: %x, want %x", number, got, want)
	}
}

// message returns a message with fields of each encoding and of each length of numbers.
func message() []byte {
	var b []byte
	for _, number := range []protowire.Number{1, 15, 16, 63, 64, 2047, 2048, protowire.MaxValidNumber} {
		for _, v := range []uint64{0, 0x7f, 0x80, 0x3fff, 0x4000, math.MaxUint32, math.MaxUint64} {
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
		}
		for _, n := range []int{0, 1, 0x7f, 0x80, 0x3fff, 0x4000} {
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), make([]byte, n))
		}
		b = protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), math.MaxUint32)
		b = protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), math.MaxUint64)
		b = protowire.AppendTag(b, number, protowire.StartGroupType)
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), "in a group")
		b = protowire.AppendTag(b, number, protowire.EndGroupType)
	}
	return b
}

func TestMessage(t *testing.T) {
	for _, want := range []Fields{
		{}, every, {Bytes: 1 << 1}, {Varints: 1 << 1}, {Bytes: 1<<15 | 1<<63}, {Varints: 1<<16 | 1<<63}, {Bytes: 1 << 16, Varints: 1 << 15},
	} {
		check(t, message(), want)
	}
}

// A truncated message is malformed, or has the complete fields.
func TestCutOff(t *testing.T) {
	whole := message()
	for n := range 2000 {
		check(t, whole[:n:n], every)
	}
}

func TestMalformed(t *testing.T) {
	for name, message := range map[string][]byte{
		"number 0":                {0x00, 0x01},
		"number 0 in two bytes":   {0x82, 0x00, 0x00},
		"number too great":        {0x80, 0x80, 0x80, 0x80, 0x10, 0x00},
		"no value":                {0x08},
		"endless number":          {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"number above 64 bits":    {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02},
		"length beyond the end":   {0x0a, 0x02, 0x00},
		"greatest length":         {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"length that isn't whole": {0x0a, 0x80},
		"end of no group":         {0x0c},
		"group without end":       {0x0b, 0x08, 0x01},
		"unknown encoding":        {0x0e, 0x00},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, message, every)
			if _, err := readAll(message, every); !errors.Is(err, ErrMalformed) {
				t.Errorf("error %v, want %v", err, ErrMalformed)
			}
		})
	}
}

// After a Reader has returned false, it stays at the end.
func TestReaderStaysAtTheEnd(t *testing.T) {
	for _, message := range [][]byte{nil, {0x08, 0x01}, {0x08, 0x01, 0x00, 0x08, 0x01}} {
		r := Read(message)
		for r.Next(every) {
		}
		err := r.Err()
		if r.Next(every) || !errors.Is(r.Err(), err) {
			t.Errorf("%x: went on to field %d, error %v after %v", message, r.Number, r.Err(), err)
		}
	}
}

// A value has no spare capacity, because appending in place would overwrite the rest of the message.
func TestBytesHaveNoCapacityBeyond(t *testing.T) {
	message := []byte{0x0a, 0x01, 0x01, 0x0a, 0x00}
	r := Read(message)
	r.Next(every)
	if cap(r.Bytes()) != 1 {
		t.Errorf("capacity is %d, want 1", cap(r.Bytes()))
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(message()[:200], ^uint64(0), ^uint64(0))
	f.Add([]byte{0x0a, 0x01, 0x01, 0x0b, 0x08, 0x01, 0x0c, 0x82, 0x01, 0x00}, uint64(1<<1|1<<16), uint64(0))
	f.Add(labels("k", "v", "", ""), uint64(1<<11), uint64(0))
	f.Fuzz(func(t *testing.T, message []byte, bytes, varints uint64) {
		check(t, message, Fields{Bytes: bytes, Varints: varints})
	})
}

// labels returns the message of a metav1.ObjectMeta with labels.
func labels(pairs ...string) (b []byte) {
	for ; len(pairs) > 0; pairs = pairs[2:] {
		m := metav1.ObjectMeta{Labels: map[string]string{pairs[0]: pairs[1]}}
		encoded, err := m.Marshal()
		if err != nil {
			panic(err)
		}
		b = append(b, encoded...)
	}
	return b
}

// checkEntry compares the result of Entry with that of package protowire and, unless the entry has fields in
// other encodings, with that of the generated decoder.
func checkEntry(t *testing.T, entry []byte) error {
	t.Helper()
	all, wantErr := parse(entry)
	var wantKey, wantValue []byte
	otherEncoding := false
	for _, f := range all {
		switch isString := protowire.Type(entry[f.Start]&7) == protowire.BytesType; {
		case f.Number > 2:
		case !isString:
			otherEncoding = true
		case f.Number == 1:
			wantKey = f.Bytes
		default:
			wantValue = f.Bytes
		}
	}
	key, value, err := Entry(entry)
	if !errors.Is(err, wantErr) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(key, wantKey) || !bytes.Equal(value, wantValue) {
		t.Errorf("%q: %q, want %q: %q", key, value, wantKey, wantValue)
	}
	if otherEncoding {
		return nil
	}
	var m metav1.ObjectMeta
	if err := m.Unmarshal(protowire.AppendBytes(protowire.AppendTag(nil, 11, protowire.BytesType), entry)); err != nil {
		t.Fatalf("%q: %q, which doesn't decode: %v", key, value, err)
	}
	if diff := cmp.Diff(m.Labels, map[string]string{string(key): string(value)}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	return nil
}

func TestEntry(t *testing.T) {
	for _, test := range []struct {
		name, entry string
		err         error
	}{
		{name: "empty"},
		{name: "key and value", entry: "\x0a\x01k\x12\x01v"},
		{name: "value and key", entry: "\x12\x01v\x0a\x01k"},
		{name: "key only", entry: "\x0a\x01k"},
		{name: "value only", entry: "\x12\x01v"},
		{name: "twice", entry: "\x0a\x01k\x12\x01v\x0a\x00\x12\x01w"},
		{name: "with another field", entry: "\x0a\x01k\x18\x01\x12\x01v"},
		{name: "key is a number", entry: "\x08\x01\x12\x01v"},
		{name: "value has a fixed size", entry: "\x0a\x01k\x15\x03abc"},
		{name: "cut off", entry: "\x0a\x01k\x12\x02v", err: ErrMalformed},
		{name: "cut off after a number", entry: "\x08\x01k\x12\x01v", err: ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := checkEntry(t, []byte(test.entry)); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte("\x0a\x01k\x12\x01v"))
	f.Add([]byte("\x12\x01v\x0a\x01k\x18\x01"))
	f.Add([]byte("\x08\x01k\x12\x01v"))
	f.Fuzz(func(t *testing.T, entry []byte) { _ = checkEntry(t, entry) })
}

// benchMessage returns the message of the metadata of a pod.
func benchMessage(b *testing.B) []byte {
	at := metav1.Unix(1_700_000_000, 0)
	m := metav1.ObjectMeta{
		Name: "deployment-5d4f8c7b9-abcde", GenerateName: "deployment-5d4f8c7b9-", Namespace: "namespace",
		UID: "0c29b6e2-85e0-4f3c-9d3c-3f1a7c6e5b21", ResourceVersion: "100000", CreationTimestamp: at,
		Labels:          map[string]string{"app": "deployment", "pod-template-hash": "5d4f8c7b9", "version": "v1", "tier": "web"},
		Annotations:     map[string]string{"linkerd.io/inject": "enabled", "note": string(make([]byte, 200))},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "deployment-5d4f8c7b9"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 1000)}}},
	}
	message, err := m.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	return message
}

// BenchmarkReader finds the UID.
func BenchmarkReader(b *testing.B) {
	message := benchMessage(b)
	for name, want := range map[string]Fields{"all wanted": every, "one wanted": {Bytes: 1 << 5}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				r := Read(message)
				for r.Next(want) {
					if r.Number == 5 {
						n = len(r.Bytes())
					}
				}
				if n != 36 || r.Err() != nil {
					b.Fatal(n, r.Err())
				}
			}
		})
	}
}
