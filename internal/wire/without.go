package wire

// Metadata is the field number of the metadata of an API object.
const Metadata = 1

// Field numbers of metav1.ObjectMeta (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto).
const (
	MetadataName              = 1
	MetadataNamespace         = 3
	MetadataUID               = 5
	MetadataResourceVersion   = 6
	MetadataGeneration        = 7
	MetadataCreationTimestamp = 8
	MetadataDeletionTimestamp = 9
	MetadataLabels            = 11
	MetadataManagedFields     = 17
)

// AppendMetadata appends the metadata of an API object to b, without the managed fields, which are most of it
// and rarely needed.
func AppendMetadata(b, object []byte) ([]byte, error) {
	r := Read(object)
	for r.Next(Fields{Bytes: 1 << Metadata}) {
		var err error
		if b, err = AppendWithout(b, r.Bytes(), MetadataManagedFields); err != nil {
			return nil, err
		}
	}
	return b, r.Err()
}

// AppendWithout appends a message to b without the fields of one number, which must be below 64. The other
// fields are copied as they are encoded.
func AppendWithout(b, message []byte, number int) ([]byte, error) {
	r, from := Read(message), 0
	for r.Next(Fields{Bytes: 1 << number, Varints: 1 << number}) {
		b = append(b, message[from:r.Start()]...)
		from = r.End()
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	return append(b, message[from:]...), nil
}
