package inspectclient

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// StreamFilter selects streams. Empty fields select all.
type StreamFilter struct {
	// Service and Pod are NAMESPACE/NAME.
	Service, Pod, Node, Search, State string
	// Namespace is that of the Service.
	Namespace string
}

// Streams returns the open calls of the Destination API, and the streams of xDS clients.
func (c *Client) Streams(ctx context.Context, filter StreamFilter) (output.Result, error) {
	given := []string{"service", filter.Service, "pod", filter.Pod, "node", filter.Node, "search", filter.Search, "state", filter.State}
	responses, err := lists(ctx, c, []string{destinationRole, xdsRole}, "streams", inspect.StreamsPath, queryOf(given...), func(l inspect.StreamList) ([]inspect.Stream, inspect.Page) { return l.Streams, l.Page })
	if err != nil {
		return output.Result{}, err
	}
	all := inspect.StreamList{Streams: []inspect.Stream{}}
	for _, a := range responses {
		for _, s := range a.value {
			s.Process = a.name()
			if filter.Namespace == "" || strings.HasPrefix(s.Service, filter.Namespace+"/") {
				all.Streams = append(all.Streams, s)
			}
		}
	}
	slices.SortFunc(all.Streams, func(a, b inspect.Stream) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(client(a), client(b)), strings.Compare(a.Process, b.Process), strings.Compare(a.ID, b.ID))
	})
	all.Total = len(all.Streams)
	a := streamResult(all, time.Now())
	if len(all.Streams) == 0 {
		a.Text = emptyText("No stream is open", append(given, "namespace", filter.Namespace)...)
	}
	return a, nil
}

// queryOf returns a query of names and values, without empty ones.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

func client(s inspect.Stream) string {
	switch {
	case s.Pod == "":
		return s.Peer
	case s.Namespace == "" || strings.Contains(s.Pod, "/"):
		return s.Pod
	default:
		return s.Namespace + "/" + s.Pod
	}
}

func streamResult(all inspect.StreamList, now time.Time) output.Result {
	behind := 0
	a := output.List(all, all.Streams, "CLIENT|NODE|METHOD|TARGET|STATE|ENDPOINTS|SENT|LAG|AGE+|VIEW+|PEER+|PROCESS+", func(s inspect.Stream) (string, []string) {
		if s.State != inspect.StreamSynced {
			behind++
		}
		return "stream/" + s.Process + "/" + s.ID, []string{
			client(s), s.Node, s.Method, s.Target, strings.ToUpper(string(s.State)), strconv.Itoa(s.Endpoints),
			fmt.Sprintf("%d/%d", s.Sent, s.Current), seconds(s.LagSeconds), age(s.Opened, now), s.View, s.Peer, s.Process,
		}
	})
	a.Text = fmt.Sprintf("\n%s, %d of them not synced.\n", inspect.Plural(len(all.Streams), "stream"), behind)
	return a
}

// seconds returns a number of seconds as short text.
func seconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return (time.Duration(s*1000) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// age returns the age of a time, as kubectl does.
func age(then, now time.Time) string {
	if then.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(then))
}
