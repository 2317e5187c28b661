package budget

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
)

// The writes of a new leader are kept when the former one, which has not noticed the loss of its
// lease, writes after it.
func TestKeeperMerges(t *testing.T) {
	w := newFilledFixture(t, 100)
	book, keeper := w.book, w.keeper
	w.start("settings")
	w.dropRange(0, 15)
	w.sync()
	w.wantZone(85)
	w.book, w.keeper = book, keeper
	w.now = w.now.Add(time.Second)
	w.drop("n20", "n21", "n22")
	w.sync()
	w.start("settings")
	w.drop("n23", "n24", "n25")
	w.sync()
	w.wantZone(82) // 18 were spent: three more of 100 are one too many
}

// If jobs of several zones store snapshots, a snapshot never replaces a later one.
func TestKeeperKeepsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		k := NewKeeper(store, time.Minute, slog.New(slog.DiscardHandler))
		b := NewBook(time.Now(), DefaultLimits(), Publisher{}, "s", "")
		_ = b.Restore(time.Now(), nil)
		var jobs sync.WaitGroup
		for i := range 20 {
			name := fmt.Sprintf("n%d.shop.test", i)
			c := []dns.Change{{Old: &dns.RecordSet{Name: name, Type: "A"}}}
			l := b.Ledger(shop)
			l.Note(name, c)
			l.Decide(time.Now(), 1000)
			l.Spend(time.Now(), name, c)
			s := b.Snapshot(time.Now())
			jobs.Go(func() {
				time.Sleep(time.Duration(20-i) * time.Millisecond)
				if err := k.Keep(t.Context(), s); err != nil {
					t.Error(err)
				}
				if !strings.Contains(string(store.text), fmt.Sprintf(",%d]", i+1)) && !strings.Contains(string(store.text), ",20]") {
					t.Errorf("the snapshot %d is not stored: %s", i+1, store.text)
				}
			})
		}
		jobs.Wait()
		if !strings.Contains(string(store.text), ",20]") {
			t.Errorf("stored is %s", store.text)
		}
		// A job that is cancelled doesn't wait for others.
		store.hang = make(chan struct{})
		b.bump()
		s := b.Snapshot(time.Now())
		jobs.Go(func() { _ = k.Keep(t.Context(), s) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Keep(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another one hangs: %v", err)
		}
		close(store.hang)
		jobs.Wait()
	})
}

type slowStore struct {
	memoryStore
	hang chan struct{}
}

func (s *slowStore) Update(ctx context.Context, change func([]byte) []byte) error {
	time.Sleep(7 * time.Millisecond)
	if s.hang != nil {
		<-s.hang
	}
	return s.memoryStore.Update(ctx, change)
}

// Without a store, Keep and Load do nothing. A store that refuses a request is tried again the next
// time (day2 B10).
func TestKeeperRetries(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	none := NewKeeper(nil, time.Minute, log)
	if loaded, err := none.Load(t.Context()); loaded != nil || err != nil {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	if err := none.Keep(t.Context(), Snapshot{number: 1}); err != nil {
		t.Error(err)
	}
	store := &memoryStore{err: errRefused}
	k := NewKeeper(store, time.Minute, log)
	if loaded, err := k.Load(t.Context()); loaded != nil || !errors.Is(err, ErrNoStore) {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	if err := k.Keep(t.Context(), Snapshot{number: 1}); !errors.Is(err, ErrNoStore) {
		t.Error(err)
	}
	store.err = nil
	if loaded, err := k.Load(t.Context()); loaded == nil || err != nil {
		t.Errorf("loaded %v, %v", loaded, err)
	}
	if err := k.Keep(t.Context(), Snapshot{number: 1, text: []byte("kept")}); err != nil || string(store.text) != "kept" {
		t.Errorf("stored %q, %v", store.text, err)
	}
}

// losingStore carries writes out, and loses the responses.
type losingStore struct {
	memoryStore
	loses bool
}

func (s *losingStore) Update(ctx context.Context, change func([]byte) []byte) error {
	err := s.memoryStore.Update(ctx, change)
	if s.loses {
		err = context.DeadlineExceeded
	}
	return err
}

// A write whose response was lost is not that of another writer, whose approvals would be kept.
func TestKeeperLosesAResponse(t *testing.T) {
	now := time.Now()
	text := func(approved ...approvedState) []byte {
		return encode(state{Version: stateVersion, Zones: []zoneState{{ID: "z", Name: "example.org", Approved: approved}}})
	}
	approved := text(approvedState{Until: now.Add(time.Hour).UnixMilli(), Changes: digests{{key: 1, change: 2}}})
	store := &losingStore{loses: true}
	k := NewKeeper(store, time.Hour, slog.New(slog.DiscardHandler))
	for n := uint64(1); n <= 2; n++ {
		if err := k.Keep(t.Context(), Snapshot{number: n, text: approved, at: now}); err == nil {
			t.Error("the response is not lost")
		}
	}
	store.loses = false
	if err := k.Keep(t.Context(), Snapshot{number: 3, text: text(), at: now}); err != nil || string(store.text) != string(text()) {
		t.Errorf("%v; stored is\n%s\nwant\n%s", err, store.text, text())
	}
	store.text = approved
	if err := k.Keep(t.Context(), Snapshot{number: 4, text: text(), at: now}); err != nil || string(store.text) != string(approved) {
		t.Errorf("another writer wrote: %v; stored is\n%s\nwant\n%s", err, store.text, approved)
	}
}

func TestApprovalQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewApprovalQueue()
		if len(d.Plans()) != 0 {
			t.Error("a new queue has plans")
		}
		d.Show([]Plan{{Hash: "a"}})
		if plans := d.Plans(); len(plans) != 1 || plans[0].Hash != "a" {
			t.Errorf("the queue has %v", plans)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Approve(ctx, "a", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("nobody takes requests: %v", err)
		}
		go func() {
			r := <-d.Requests()
			r.Decide(Approval{Plan: r.Hash, Excepted: len(r.Except)}, nil)
			<-d.Requests()
			r = <-d.Requests()
			r.Decide(Approval{}, ErrNotLeading)
		}()
		if a, err := d.Approve(t.Context(), "a", []string{"x"}); err != nil || a.Plan != "a" || a.Excepted != 1 {
			t.Errorf("%+v, %v", a, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Approve(ctx, "a", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that isn't answered: %v", err)
		}
		if _, err := d.Approve(t.Context(), "a", nil); !errors.Is(err, ErrNotLeading) {
			t.Errorf("%v", err)
		}
	})
}
