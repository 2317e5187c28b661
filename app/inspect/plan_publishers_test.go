package inspect

import (
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/budget"
)

// Split-horizon V1: a hash that the plans of two publishers have is refused, for showing and for
// approving, until the publisher is named.
func TestHashOfTwoPublishers(t *testing.T) {
	public, private := &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 3, 1)}}, &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 1, 0)}}
	show, approve := PlanPath+"/"+hash, ApprovePath(hash)
	for _, r := range []*http.Request{request(http.MethodGet, show, ""), request(http.MethodPost, approve, "{}")} {
		w := serve(t, leading, r, public, private)
		f := decodeResponse[Failure](t, w)
		if w.Code != 422 || !strings.Contains(f.Error, `publisher "p0"`) || !strings.Contains(f.Error, `publisher "p1"`) || len(public.approved)+len(private.approved) > 0 {
			t.Errorf("%s: %d %+v, approved %q %q", r.Method, w.Code, f, public.approved, private.approved)
		}
	}
	if p := decodeResponse[Plan](t, serve(t, leading, request(http.MethodGet, show+"?publisher=p1", ""), public, private)); p.Publisher != "p1" || p.Deletions != 1 {
		t.Errorf("shown of p1: %+v", p)
	}
	if list := decodeResponse[PlanList](t, serve(t, leading, request(http.MethodGet, PlanPath+"?publisher=p1", ""), public, private)); len(list.Plans) != 1 || list.Plans[0].Publisher != "p1" {
		t.Errorf("listed of p1: %+v", list)
	}
	if w := serve(t, leading, request(http.MethodPost, approve+"?publisher=p1", "{}"), public, private); w.Code != 200 || len(public.approved) > 0 || len(private.approved) != 1 {
		t.Errorf("approved of p1: %d, %q %q", w.Code, public.approved, private.approved)
	}
	records := New(Config{Offers: []Offer{{Role: "dns", Records: &fixture{}, Publishers: []Publisher{{Name: "p0"}, {Name: "p1"}}, Leadership: leading}}})
	for query, code := range map[string]int{"?publisher=nonesuch": 400, "?publisher=p1": 200, "?publisher=": 200} {
		if w := ask(records, RecordsPath+query); w.Code != code || code == 400 && !strings.Contains(w.Body.String(), `there is \"p0\", \"p1\"`) {
			t.Errorf("records%s: %d %s, want %d", query, w.Code, w.Body, code)
		}
	}
	for _, query := range []string{"?publisher=nonesuch", "?publisher=", "?publisher=p0&publisher=p1", "?publishers=p0"} {
		if w := serve(t, leading, request(http.MethodPost, approve+query, "{}"), public, private); w.Code != 400 || len(public.approved) > 0 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// Day2 B14: in the first seconds of a leader, a plan that isn't held yet is "not planned yet".
func TestNotPlannedYet(t *testing.T) {
	ready, begins := &fakeQueue{}, &fakeQueue{unplanned: true, err: budget.ErrNotPlanned}
	list := decodeResponse[PlanList](t, serve(t, leading, request(http.MethodGet, PlanPath, ""), ready, begins))
	if len(list.Unplanned) != 1 || list.Unplanned[0].Publisher != "p1" || list.Unplanned[0].Since == nil {
		t.Errorf("the list is %+v", list)
	}
	for _, r := range []*http.Request{request(http.MethodGet, PlanPath+"/"+hash, ""), request(http.MethodPost, ApprovePath(hash), "{}")} {
		w := serve(t, leading, r, ready, begins)
		if f := decodeResponse[Failure](t, w); w.Code != 503 || !strings.Contains(f.Error, "not planned yet") {
			t.Errorf("%s: %d %+v", r.Method, w.Code, f)
		}
	}
}
