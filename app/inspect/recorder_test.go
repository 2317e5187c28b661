package inspect

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/internal/history"
)

// valuesOf returns the values of each figure; -1 where one wasn't known.
func valuesOf(t *testing.T, s *Server) map[FigureName][]int {
	t.Helper()
	all := map[FigureName][]int{}
	for _, f := range decodeResponse[Figures](t, ask(s, FiguresPath)).Figures {
		values := []int{}
		for _, v := range f.Values {
			if v == nil {
				values = append(values, -1)
			} else {
				values = append(values, *v)
			}
		}
		all[f.Name] = values
	}
	return all
}

// Each figure has what its role counts, changes since the value before, and null while another
// process knows the records.
func TestFigures(t *testing.T) {
	w := &fixture{streams: streamsNumbered(3), zones: []Zone{{Name: "example.org", Records: map[RecordState]int{RecordPublished: 5, RecordHeld: 2, RecordPending: 1, RecordForeign: 9}}}}
	log := history.New(history.DefaultBytes, nil)
	change := func() {
		log.Add(history.Key{Namespace: "shop", Name: "web"}, "shop", &history.Entry{Kind: history.Sent, Added: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80")}})
	}
	change()
	s := New(Config{Offers: w.offers(), History: log})
	if code := ask(s, FiguresPath).Code; code != 503 {
		t.Errorf("before the first value: %d, want 503", code)
	}
	s.recorder.begin()
	s.recorder.record(t.Context(), time.Unix(1000, 0))
	change()
	change()
	w.streams, w.err = nil, errors.New("another process leads")
	s.recorder.record(t.Context(), time.Unix(1005, 0))
	want := map[FigureName][]int{FigureStreams: {3, 0}, FigureBehind: {1, 1}, FigureChanges: {0, 2}, FigureUnpublished: {3, -1}}
	if diff := cmp.Diff(want, valuesOf(t, s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A process without a role has no figure of it, and one without a history no changes.
func TestFiguresOfRoles(t *testing.T) {
	s := New(Config{Offers: (&fixture{}).offers()[1:]})
	s.recorder.record(t.Context(), time.Unix(1000, 0))
	if diff := cmp.Diff(map[FigureName][]int{FigureUnpublished: {0}}, valuesOf(t, s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Figures have the values of the last 15 minutes, the oldest first.
func TestFiguresAreBounded(t *testing.T) {
	w := &fixture{}
	s := New(Config{Offers: w.offers()})
	for i := range 2*maxValues + 7 {
		w.streams = make([]Stream, i)
		s.recorder.record(context.Background(), time.Unix(int64(i), 0))
	}
	got := valuesOf(t, s)[FigureStreams]
	if len(got) != maxValues || got[0] != maxValues+7 || got[maxValues-1] != 2*maxValues+6 {
		t.Errorf("%d values from %d to %d", len(got), got[0], got[len(got)-1])
	}
}

// A server that runs has its first values at once.
func TestFiguresRun(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: streamsNumbered(3)}).offers()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for ask(s, FiguresPath).Code != 200 {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		runtime.Gosched()
	}
	if got := valuesOf(t, s)[FigureStreams]; len(got) == 0 || got[0] != 3 {
		t.Errorf("streams: %v", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
