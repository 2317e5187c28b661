package streams

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSet(t *testing.T) {
	var s Set[int]
	for _, id := range []int{3, 1, 2, 1} {
		s.Add(id)
	}
	s.Remove(3)
	s.Remove(4)
	var each []int
	s.Each(func(id int) { each = append(each, id) })
	all := s.All()
	slices.Sort(each)
	slices.Sort(all)
	if want := []int{1, 2}; !slices.Equal(each, want) || !slices.Equal(all, want) {
		t.Errorf("Each gave %v and All %v, want %v", each, all, want)
	}
}

// After Stop no call begins, and Wait waits for the open ones and for what they run.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCalls()
		if !c.Begin() {
			t.Fatal("a call is refused before the stop")
		}
		c.Go(func() {
			<-c.Stopping()
			time.Sleep(2 * time.Second) // virtual time
		})
		time.AfterFunc(time.Second, c.End)
		c.Stop()
		if c.Begin() {
			t.Error("a call begins after the stop")
		}
		begun := time.Now()
		if c.Wait(); time.Since(begun) != 2*time.Second {
			t.Errorf("Wait took %v, want 2s", time.Since(begun))
		}
	})
}

func TestMap(t *testing.T) {
	var m Map[string, *int]
	made, refused := 0, errors.New("too many")
	acquire := func(key string) *int {
		t.Helper()
		v, err := m.Acquire(key, func() (*int, error) { made++; return new(made), nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v, err := m.Acquire("a", func() (*int, error) { return nil, refused }); !errors.Is(err, refused) || v != nil || m.Len() != 0 {
		t.Errorf("refused: %v, %v, and %d keys are in use", v, err, m.Len())
	}
	one, same, other := acquire("a"), acquire("a"), acquire("b")
	if one != same || one == other {
		t.Errorf("a has the values %p and %p, b has %p", one, same, other)
	}
	var ended, values []int
	end := func(v *int) { ended = append(ended, *v) }
	m.Release("a", end)
	m.Each(func(v *int) { values = append(values, *v) })
	if slices.Sort(values); len(ended) > 0 || !slices.Equal(values, []int{1, 2}) {
		t.Errorf("with one user less: ended %v, in use %v", ended, values)
	}
	m.Release("a", end)
	if m.Len() != 1 || !slices.Equal(ended, []int{1}) {
		t.Errorf("without users: ended %v, and %d keys are in use", ended, m.Len())
	}
	if again := acquire("a"); *again != 3 {
		t.Errorf("the value %d was kept without users", *again)
	}
}

func TestLag(t *testing.T) {
	var l Lag
	now := time.Unix(100, 0)
	if got := l.At(now); got != 0 {
		t.Errorf("before anything is sent: %v", got)
	}
	l.Begin(now.Add(-time.Second))
	if got, early := l.At(now), l.At(now.Add(-time.Minute)); got != time.Second || early != 0 {
		t.Errorf("while something is sent: %v, and %v by an earlier clock", got, early)
	}
	l.End()
	if got := l.At(now); got != 0 {
		t.Errorf("after it was sent: %v", got)
	}
}
