package validate

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) or(other bits) bits {
	out := make(bits, len(b))
	for i := range b {
		out[i] = b[i] | other[i]
	}
	return out
}

func (b bits) contains(other bits) bool {
	for i := range b {
		if other[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

// full reports whether b has all numbers below n.
func (b bits) full(n int) bool {
	for i := range b {
		want := ^uint64(0)
		if left := n - 64*i; left < 64 {
			want = 1<<left - 1
		}
		if b[i] != want {
			return false
		}
	}
	return true
}
