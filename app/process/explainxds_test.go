package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds"
)

func TestXDSSteps(t *testing.T) {
	zone := func(z string) catalog.Filter { return catalog.Filter{Kind: catalog.FilterZone, Zone: z} }
	for name, tt := range map[string]struct {
		response   xds.FirstResponse
		subscribed bool
		state      inspect.StepState
		want       []string // parts of the text and of the lines below it
	}{
		"served": {
			response: xds.FirstResponse{Cluster: "web.shop.svc.cluster.local:80", Places: []xds.PlaceResponse{
				{Usable: []int{3}, Draining: 1}, {Filter: zone("a"), Usable: []int{2, 1}}, {Filter: catalog.Filter{Kind: catalog.FilterNode, Node: "n1"}},
			}},
			state: inspect.StepOK,
			want:  []string{"web.shop.svc.cluster.local:80", "unknown: 3 endpoints; 1 draining", "zone a: 2 endpoints, when these fail 1", "node n1: no endpoints"},
		},
		"no endpoints": {response: xds.FirstResponse{Places: []xds.PlaceResponse{{}}}, state: inspect.StepWrong, want: []string{"get no endpoint"}},
		"one endpoint": {response: xds.FirstResponse{Places: []xds.PlaceResponse{{Usable: []int{1}}}}, state: inspect.StepOK, want: []string{"unknown: 1 endpoint"}},
		"overridden": {
			response: xds.FirstResponse{Overrides: []string{"a", "b"}, Places: []xds.PlaceResponse{{}}}, state: inspect.StepNote,
			want: []string{"by the Clusters a, b that the ServiceProfile names"},
		},
		"a linked cluster":           {response: xds.FirstResponse{Places: []xds.PlaceResponse{{}}, Pending: true}, state: inspect.StepUnknown, want: []string{"linked cluster"}},
		"refused, and no subscriber": {response: xds.FirstResponse{Refusal: errors.New("no Service")}, state: inspect.StepNote, want: []string{"told: no Service"}},
		"refused, and a subscriber":  {response: xds.FirstResponse{Refusal: errors.New("no Service")}, subscribed: true, state: inspect.StepWrong, want: []string{"told: no Service"}},
		"visible to some":            {response: xds.FirstResponse{VisibleTo: ".", Places: []xds.PlaceResponse{{Usable: []int{1}}}}, state: inspect.StepOK, want: []string{"xds-visible-to"}},
		"a route that is left out":   {response: xds.FirstResponse{Problems: []string{"spec.routes[0]"}, Places: []xds.PlaceResponse{{Usable: []int{1}}}}, state: inspect.StepOK, want: []string{"spec.routes[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := xdsPortStep(80, tt.response, tt.subscribed)
			text := strings.Join(append([]string{s.Text}, s.More...), "\n")
			if s.State != tt.state {
				t.Errorf("state %s, want %s", s.State, tt.state)
			}
			if strings.Contains(text, " 1 endpoints") {
				t.Error("plural of one in:\n" + text)
			}
			for _, part := range tt.want {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in:\n%s", part, text)
				}
			}
		})
	}
	if s := xdsClients(2, []string{"Cluster x: 1"}); s.State != inspect.StepWrong || s.More[0] != "Cluster x: 1" {
		t.Errorf("rejections: %+v", s)
	}
	if s := xdsClients(2, nil); s.State != inspect.StepNote {
		t.Errorf("no rejections: %+v", s)
	}
}
