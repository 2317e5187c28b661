package destination

import (
	"strings"
	"testing"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
)

// treeBytes makes decisions from fuzz data. After the end of the data, it returns zero.
type treeBytes []byte

func (b *treeBytes) next() byte {
	if len(*b) == 0 {
		return 0
	}
	first := (*b)[0]
	*b = (*b)[1:]
	return first
}

func (b *treeBytes) text() string {
	n := min(int(b.next()%8), len(*b))
	text := strings.ToValidUTF8(string((*b)[:n]), "?")
	*b = (*b)[n:]
	return text
}

// list makes a list of children, some of them nil, of which there are few at depth.
func list[T any](b *treeBytes, depth int, child func(*treeBytes, int) *T) []*T {
	var children []*T
	for range b.next() % 4 {
		children = append(children, child(b, depth+1))
	}
	return children
}

// maxTree is deeper than any condition that the API types accept.
const maxTree = 40

func requestTree(b *treeBytes, depth int) *catalog.RequestMatch {
	fields := b.next()
	if fields&1 != 0 || depth > maxTree {
		return nil
	}
	m := &catalog.RequestMatch{}
	if fields&2 != 0 {
		m.All = list(b, depth, requestTree)
	}
	if fields&4 != 0 {
		m.Any = list(b, depth, requestTree)
	}
	if fields&8 != 0 {
		m.Not = requestTree(b, depth+1)
	}
	if fields&16 != 0 {
		m.Method = b.text()
	}
	if fields&32 != 0 {
		m.PathRegex = b.text()
	}
	return m
}

func responseTree(b *treeBytes, depth int) *catalog.ResponseMatch {
	fields := b.next()
	if fields&1 != 0 || depth > maxTree {
		return nil
	}
	m := &catalog.ResponseMatch{}
	if fields&2 != 0 {
		m.All = list(b, depth, responseTree)
	}
	if fields&4 != 0 {
		m.Any = list(b, depth, responseTree)
	}
	if fields&8 != 0 {
		m.Not = responseTree(b, depth+1)
	}
	if fields&16 != 0 {
		m.Status = &catalog.StatusRange{Min: int64(b.next()) * 3, Max: int64(b.next())*3 - 6}
	}
	return m
}

// validRequest reports independently whether a condition is valid (§3.5).
func validRequest(m *catalog.RequestMatch) bool {
	if m == nil || len(m.All)+len(m.Any)+len(m.Method)+len(m.PathRegex) == 0 && m.Not == nil {
		return false
	}
	for _, children := range [][]*catalog.RequestMatch{m.All, m.Any} {
		for _, child := range children {
			if !validRequest(child) {
				return false
			}
		}
	}
	return m.Not == nil || validRequest(m.Not)
}

func validResponse(m *catalog.ResponseMatch) bool {
	if m == nil || len(m.All)+len(m.Any) == 0 && m.Not == nil && m.Status == nil {
		return false
	}
	for _, children := range [][]*catalog.ResponseMatch{m.All, m.Any} {
		for _, child := range children {
			if !validResponse(child) {
				return false
			}
		}
	}
	if s := m.Status; s != nil {
		for _, n := range []int64{s.Min, s.Max} {
			if n != 0 && (n < 100 || n > 599) {
				return false
			}
		}
		if s.Min > s.Max && s.Max != 0 {
			return false
		}
	}
	return m.Not == nil || validResponse(m.Not)
}

// wholeRequest reports whether each match of a tree has a condition.
func wholeRequest(m *pb.RequestMatch) bool {
	for _, seq := range []*pb.RequestMatch_Seq{m.GetAll(), m.GetAny()} {
		for _, child := range seq.GetMatches() {
			if !wholeRequest(child) {
				return false
			}
		}
		if seq != nil && len(seq.GetMatches()) == 0 {
			return false
		}
	}
	return m.GetMatch() != nil && (m.GetNot() == nil || wholeRequest(m.GetNot()))
}

func wholeResponse(m *pb.ResponseMatch) bool {
	for _, seq := range []*pb.ResponseMatch_Seq{m.GetAll(), m.GetAny()} {
		for _, child := range seq.GetMatches() {
			if !wholeResponse(child) {
				return false
			}
		}
		if seq != nil && len(seq.GetMatches()) == 0 {
			return false
		}
	}
	return m.GetMatch() != nil && (m.GetNot() == nil || wholeResponse(m.GetNot()))
}

// fuzzSeeds are a leaf, a nil, an empty match, all fields at once, and a deep chain.
func fuzzSeeds(f *testing.F) {
	f.Helper()
	for _, seed := range []string{
		"\x10\x03GET", "\x01", "\x00", "\x3e\x01\x10\x03PUT\x02\x20\x01/\x10\x01X\x10\x03get\x20\x02/a",
		strings.Repeat("\x08", maxTree) + "\x10\x03GET", strings.Repeat("\x02\x01", maxTree) + "\x10\x46\x50", "\x02\x02\x10\x01a\x01",
		"\x10\x46\x50", "\x10\x50\x46", "\x10\x46\x02", "\x18\x00\x46\x10\x46\x02",
	} {
		f.Add([]byte(seed))
	}
}

// FuzzRequestMatch encodes any tree. A valid tree becomes a message without empty conditions that can be
// decoded. Any other tree is an error.
func FuzzRequestMatch(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		b := treeBytes(data)
		tree := requestTree(&b, 0)
		m, err := requestMatch(tree)
		if valid := validRequest(tree); valid != (err == nil) {
			t.Fatalf("valid is %v, error is %v", valid, err)
		}
		if err != nil {
			return
		}
		var back pb.RequestMatch
		if err := proto.Unmarshal(encoded(m), &back); err != nil || !proto.Equal(m, &back) || !wholeRequest(m) {
			t.Errorf("%v: became %v, error %v", m, &back, err)
		}
	})
}

// FuzzResponseMatch does what FuzzRequestMatch does, for responses.
func FuzzResponseMatch(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		b := treeBytes(data)
		tree := responseTree(&b, 0)
		m, err := responseMatch(tree)
		if valid := validResponse(tree); valid != (err == nil) {
			t.Fatalf("valid is %v, error is %v", valid, err)
		}
		if err != nil {
			return
		}
		var back pb.ResponseMatch
		if err := proto.Unmarshal(encoded(m), &back); err != nil || !proto.Equal(m, &back) || !wholeResponse(m) {
			t.Errorf("%v: became %v, error %v", m, &back, err)
		}
	})
}
