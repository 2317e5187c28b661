package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// rowLines returns rows as text: "name TYPE state", with the message behind it if there is one.
func (w *fixture) rowLines(f RowFilter) []string {
	w.t.Helper()
	page, err := w.publisher.Rows(w.t.Context(), f, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	if page.Total != len(page.Rows) {
		w.t.Errorf("%d rows of %d", len(page.Rows), page.Total)
	}
	var lines []string
	for _, r := range page.Rows {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Name, r.Type, r.State, r.Message)))
	}
	return lines
}

func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Each record set has a state, and a message that says what to do.
func TestRows(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.byHand(
			dns.Change{New: record(t, "x", "theirs.shop.test", "A", "192.0.2.9")},
			dns.Change{New: record(t, "x", "foreign.shop.test", "A", "192.0.2.9")},
		)
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Apply && slices.ContainsFunc(c.Changes, func(c dns.Change) bool { return c.RecordSet().Name == "bad.shop.test" }) {
				return errors.New("no such luck")
			}
			return nil
		}})
		w.start()
		w.objects.set("good", record(t, "good", "good.shop.test", "A", "192.0.2.1"), record(t, "good", "good.shop.test", "AAAA", "2001:db8::1"))
		w.objects.set("theirs", record(t, "theirs", "theirs.shop.test", "A", "192.0.2.1"))
		w.objects.set("bad", record(t, "bad", "bad.shop.test", "A", "192.0.2.1"))
		w.objects.set("far", record(t, "far", "far.elsewhere.test", "A", "192.0.2.1"))
		waitIdle()
		expectLines(
			t, w.rowLines(RowFilter{}),
			"far.elsewhere.test A no-zone the name is in no zone of the provider: create the zone, or change the zone filters",
			"bad.shop.test A failing no such luck",
			"foreign.shop.test A foreign",
			"good.shop.test A published", "good.shop.test AAAA published",
			"theirs.shop.test A conflict the zone's A record theirs.shop.test has no known owner and is left alone: delete it, or add an ownership record for it",
		)
		expectLines(t, w.rowLines(RowFilter{States: []RowState{RowPublished}, Search: "2001:db8"}), "good.shop.test AAAA published")
		expectLines(t, w.rowLines(RowFilter{Search: "service/default/good"}), "good.shop.test A published", "good.shop.test AAAA published")
		expectLines(t, w.rowLines(RowFilter{Zone: "shop.test", Search: "foreign"}), "foreign.shop.test A foreign")
		expectLines(t, w.rowLines(RowFilter{Zone: "elsewhere.test"}))
		expectLines(t, w.rowLines(RowFilter{Object: &dns.Object{Kind: "Service", Namespace: "default", Name: "far"}}),
			"far.elsewhere.test A no-zone the name is in no zone of the provider: create the zone, or change the zone filters")
		page, err := w.publisher.Rows(t.Context(), RowFilter{Search: "good"}, 1, 1)
		if err != nil || page.Total != 2 || len(page.Rows) != 1 {
			t.Fatalf("a page: %+v, %v", page, err)
		}
		got := page.Rows[0]
		if got.Type != "AAAA" || got.Zone != zoneName || got.Owner != "me" || !slices.Equal(got.Wanted, got.Targets) || len(got.Objects) != 1 {
			t.Errorf("row: %+v", got)
		}
		if page, err := w.publisher.Rows(t.Context(), RowFilter{}, 100, 10); err != nil || page.Total != 6 || len(page.Rows) != 0 {
			t.Errorf("behind the end: %+v, %v", page, err)
		}
		zones, unzoned, err := w.publisher.ZoneRows(t.Context())
		if err != nil || len(zones) != 1 || unzoned[RowNoZone] != 1 {
			t.Fatalf("zones: %+v, %v, %v", zones, unzoned, err)
		}
		if z := zones[0]; z.Name != zoneName || z.Rows[RowPublished] != 2 || z.Rows[RowFailing] != 1 || z.Rows[RowNotOwned] != 1 || z.Rows[RowConflict] != 1 || z.Read.IsZero() {
			t.Errorf("zone: %+v", z)
		}
	})
}

func (w *fixture) keptWindows() int {
	w.publisher.rowWindows.mu.Lock()
	defer w.publisher.rowWindows.mu.Unlock()
	return len(w.publisher.rowWindows.kept)
}

// The pages of a list are those of one walk: a row that appears meanwhile is on none of them and moves no
// other row. The first page, another filter, and a page after windowTime show it.
func TestPagesOfRows(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.ask(0, 40, "192.0.2.1")
		w.start()
		waitIdle()
		names := func(f RowFilter, offset, limit, total int) (names []string) {
			t.Helper()
			page, err := w.publisher.Rows(t.Context(), f, offset, limit)
			if err != nil || page.Total != total {
				t.Errorf("%d rows at %d: %d in all, want %d: %v", limit, offset, page.Total, total, err)
			}
			for _, r := range page.Rows {
				names = append(names, r.Name)
			}
			return names
		}
		all := names(RowFilter{}, 0, 40, 40)
		pages := func(limit, total int) (listed []string) {
			for offset := limit; offset < 40; offset += limit {
				listed = append(listed, names(RowFilter{}, offset, limit, total)...)
			}
			return listed
		}
		names(RowFilter{}, 0, 10, 40)
		w.objects.set("first", record(t, "first", "a."+zoneName, "A", "192.0.2.1"))
		w.objects.set("o0")
		waitIdle()
		if got := pages(10, 40); !slices.Equal(got, all[10:]) {
			t.Errorf("the other pages have %d rows: %v", len(got), got)
		}
		if got := names(RowFilter{}, 0, 1, 40); !slices.Equal(got, []string{"a." + zoneName}) {
			t.Errorf("the first page has %v", got)
		}
		if got := names(RowFilter{Search: "a." + zoneName}, 0, 1, 1); !slices.Equal(got, []string{"a." + zoneName}) {
			t.Errorf("the page of another filter has %v", got)
		}
		time.Sleep(windowTime + time.Millisecond)
		if n := w.keptWindows(); n > 0 {
			t.Errorf("%d walks are kept", n)
		}
		if got := pages(10, 40); !slices.Equal(got, all[10:]) {
			t.Errorf("later the other pages have %d rows: %v", len(got), got)
		}
	})
}

// A list that is longer than a window goes on behind its last row, and doesn't miss or repeat a row.
func TestPagesOfSeveralWalks(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		const rows = 3*windowPages + 5
		w.ask(0, rows, "192.0.2.1")
		w.start()
		waitIdle()
		var listed []string
		for offset := range rows + 2 {
			page, err := w.publisher.Rows(t.Context(), RowFilter{}, offset, 1)
			if err != nil || page.Total != rows {
				t.Fatalf("the page at %d: %d rows, %v", offset, page.Total, err)
			}
			for _, r := range page.Rows {
				listed = append(listed, r.Name)
			}
			if n := w.keptWindows(); n > maxWindows {
				t.Fatalf("%d walks are kept", n)
			}
		}
		if len(listed) != rows || !slices.IsSorted(listed) || len(slices.Compact(listed)) != rows {
			t.Errorf("%d rows, want %d", len(listed), rows)
		}
	})
}

// The message of a row that the policy keeps names the policy.
func TestKeptRows(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = func(c *Config) { c.Rules.Policy = plan.CreateOnly }
		w.start()
		w.objects.set("gone", record(t, "gone", "gone.shop.test", "A", "192.0.2.1"))
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.1"))
		waitIdle()
		w.objects.set("gone")
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.2"))
		waitIdle()
		expectLines(
			t, w.rowLines(RowFilter{}),
			"gone.shop.test A unwanted no object asks for it, and --policy=create-only deletes nothing: delete it yourself, or give --policy=sync",
			"new.shop.test A held the zone has something else, and --policy=create-only changes nothing that exists: change it yourself, or give --policy=upsert-only",
		)
	})
}

// Rows returns ErrNotLeading on a standby, and doesn't block after Run has ended.
func TestRowsWithoutLeading(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		p := w.make()
		ctx, cancel := context.WithCancel(t.Context())
		late, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		if _, err := p.Rows(late, RowFilter{}, 0, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before it runs: %v", err)
		}
		go func() { _ = p.Run(ctx) }()
		if _, err := p.Rows(t.Context(), RowFilter{}, 0, 1); !errors.Is(err, ErrNotLeading) {
			t.Errorf("as a standby: %v", err)
		}
		if _, _, err := p.ZoneRows(t.Context()); !errors.Is(err, ErrNotLeading) {
			t.Errorf("as a standby: %v", err)
		}
		cancel()
		synctest.Wait()
		if _, err := p.Follow(t.Context()); !errors.Is(err, ErrNotRunning) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// A follower gets each changed and each deleted row once.
func TestFollow(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.start()
		waitIdle()
		f, err := w.publisher.Follow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := func() Changes {
			t.Helper()
			c, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		waitIdle()
		<-f.Changed()
		c := next()
		if len(c.Rows) != 1 || c.Rows[0].State != RowPublished || c.Rows[0].Name != "a.shop.test" || c.Reset || len(c.Gone) > 0 {
			t.Errorf("after a new record: %+v", c)
		}
		if c := next(); len(c.Rows)+len(c.Gone) > 0 {
			t.Errorf("without a change: %+v", c)
		}
		w.objects.set("a")
		waitIdle()
		if c := next(); len(c.Rows) != 0 || len(c.Gone) != 1 || c.Gone[0].Name != "a.shop.test" || c.Gone[0].Type != "A" || c.Gone[0].Zone != zoneName {
			t.Errorf("after its end: %+v, want that the A record is gone and nothing else", c)
		}
		w.objects.set("lost", record(t, "lost", "lost.elsewhere.test", "A", "192.0.2.1"))
		waitIdle()
		if c := next(); len(c.Rows) != 1 || c.Rows[0].State != RowNoZone || len(c.Gone) > 0 {
			t.Errorf("after a name in no zone: %+v", c)
		}
		w.objects.set("lost")
		waitIdle()
		if c := next(); len(c.Rows) > 0 || len(c.Gone) != 1 || c.Gone[0].Name != "lost.elsewhere.test" || c.Gone[0].Zone != "" {
			t.Errorf("after the end of a name in no zone: %+v", c)
		}
		for i := range maxFollowed + 1 {
			name := fmt.Sprintf("n%d", i)
			w.objects.set(name, record(t, name, name+".shop.test", "A", "192.0.2.1"))
		}
		waitIdle()
		if c := next(); !c.Reset || len(c.Rows) > 0 {
			t.Errorf("after very many: %d rows, reset %v", len(c.Rows), c.Reset)
		}
		f.Close()
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		waitIdle()
		if len(w.publisher.followers) > 0 {
			t.Error("nobody follows any more, and it is noted still")
		}
	})
}
