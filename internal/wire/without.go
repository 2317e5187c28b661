package wire

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
