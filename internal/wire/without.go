package wire

// Metadata is the number of the metadata of an API object.
const Metadata = 1

// The numbers of fields of a metav1.ObjectMeta
// (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto).
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

// AppendMetadata appends the fields of the metadata of an API object to b, but for its
// managed fields, which are most of it and seldom of interest.
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

// AppendWithout appends the fields of a message to b, as they are encoded, but for those of a
// number.
func AppendWithout(b, message []byte, number int) ([]byte, error) {
	for len(message) > 0 {
		f, rest, err := Next(message)
		if err != nil {
			return nil, err
		}
		if f.Number != number {
			b = append(b, message[:len(message)-len(rest)]...)
		}
		message = rest
	}
	return b, nil
}
