package wire

// The numbers of the metadata of an API object, and of a field of a metav1.ObjectMeta.
const (
	Metadata      = 1
	ManagedFields = 17
)

// AppendMetadata appends the fields of the metadata of an API object to b, but for its
// managed fields, which are most of it and seldom of interest.
func AppendMetadata(b, object []byte) ([]byte, error) {
	r := Read(object)
	for r.Next(Fields{Bytes: 1 << Metadata}) {
		var err error
		if b, err = AppendWithout(b, r.Bytes(), ManagedFields); err != nil {
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
