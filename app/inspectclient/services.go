package inspectclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// Services returns the served Services, worst first; an empty namespace means all. Streams are
// those of all processes. If processes disagree about the endpoints of a Service, the lowest number
// and the worst state are returned, with a note.
func (c *Client) Services(ctx context.Context, namespace, search string) (output.Result, error) {
	all, err := c.services(ctx, namespace, search)
	if err != nil {
		return output.Result{}, err
	}
	a := output.List(all, all.Services, "NAMESPACE|NAME|STATE|PORTS|READY|NOT READY|STREAMS|REMOTE+|FEDERATED+", func(s inspect.Service) (string, []string) {
		return "service/" + s.Namespace + "/" + s.Name, []string{
			s.Namespace, s.Name, string(s.State), strings.Join(s.Ports, ","), strconv.Itoa(s.Ready), strconv.Itoa(s.NotReady), strconv.Itoa(s.Streams), s.Remote, yes(s.Federated),
		}
	})
	if len(all.Services) == 0 {
		a.Text = emptyText("No Service is served", "namespace", namespace, "search", search)
	}
	return a, nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

func (c *Client) services(ctx context.Context, namespace, search string) (inspect.ServiceList, error) {
	merged := inspect.ServiceList{Services: []inspect.Service{}}
	query := queryOf("namespace", namespace, "search", search)
	responses, err := lists(ctx, c, []string{destinationRole}, "services", inspect.ServicesPath, query, func(l inspect.ServiceList) ([]inspect.Service, inspect.Page) { return l.Services, l.Page })
	if err != nil {
		return merged, err
	}
	at := map[string]int{}
	for _, a := range responses {
		for _, s := range a.value {
			key := s.Namespace + "/" + s.Name
			i, known := at[key]
			if !known {
				at[key] = len(merged.Services)
				merged.Services = append(merged.Services, s)
				continue
			}
			old := &merged.Services[i]
			old.Streams += s.Streams
			if s.State.Severity() < old.State.Severity() {
				old.State = s.State
			}
			if old.Ready != s.Ready {
				c.note("%s: processes differ: one serves %d endpoints, %s serves %d", key, old.Ready, a.name(), s.Ready)
				old.Ready = min(old.Ready, s.Ready)
			}
		}
	}
	slices.SortFunc(merged.Services, func(a, b inspect.Service) int {
		return cmp.Or(cmp.Compare(a.State.Severity(), b.State.Severity()), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	merged.Total = len(merged.Services)
	return merged, nil
}

// objectText returns an object as text, such as Service shop/web.
func objectText(o inspect.ObjectRef) string {
	if o.Cluster != "" {
		return fmt.Sprintf("%s of the cluster %s", o.Title(), o.Cluster)
	}
	return o.Title()
}
