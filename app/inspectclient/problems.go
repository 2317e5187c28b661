package inspectclient

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// Problems returns the parts of objects that can't be used. Equal problems of several processes are
// merged. An empty namespace means all.
func (c *Client) Problems(ctx context.Context, namespace, search string) (output.Result, error) {
	responses, err := lists(ctx, c, nil, "problems", inspect.ProblemsPath, queryOf("search", search), func(l inspect.ProblemList) ([]inspect.Problem, inspect.Page) { return l.Problems, l.Page })
	if err != nil {
		return output.Result{}, err
	}
	merged := map[inspect.Problem]inspect.Problem{}
	for _, a := range responses {
		for _, p := range a.value {
			if namespace != "" && p.Object.Namespace != namespace {
				continue
			}
			p.ID = ""
			key := p
			key.Since, key.Last = time.Time{}, nil // each process has its own
			if known, ok := merged[key]; ok {
				p.Since, p.Last = slices.MinFunc([]time.Time{known.Since, p.Since}, time.Time.Compare), later(known.Last, p.Last)
			}
			merged[key] = p
		}
	}
	all := inspect.ProblemList{Problems: slices.AppendSeq([]inspect.Problem{}, maps.Values(merged))}
	slices.SortFunc(all.Problems, func(a, b inspect.Problem) int {
		return cmp.Or(strings.Compare(objectText(a.Object), objectText(b.Object)), strings.Compare(a.Field, b.Field), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Value, b.Value))
	})
	all.Total = len(all.Problems)
	a := problemResult(all, time.Now())
	if len(all.Problems) == 0 {
		a.Text = emptyText("No object has a part that can't be used", "namespace", namespace, "search", search)
	}
	return a, nil
}

func later(a, b *time.Time) *time.Time {
	if b == nil || a != nil && a.After(*b) {
		return a
	}
	return b
}

func problemResult(all inspect.ProblemList, now time.Time) output.Result {
	return output.List(all, all.Problems, "OBJECT|FIELD|AGE|REASON…|VALUE+", func(p inspect.Problem) (string, []string) {
		return strings.ToLower(p.Object.Kind) + "/" + strings.TrimPrefix(p.Object.Namespace+"/"+p.Object.Name, "/"),
			[]string{objectText(p.Object), p.Field, age(p.Since, now), sentence(p.Reason), p.Value}
	})
}
