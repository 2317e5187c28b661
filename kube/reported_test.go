package kube

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// A problem ends with the version of the object that lacks it, with the deletion of the object, and with a
// listing without it.
func TestFixedProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := Services()
		kind.Trim = TrimOf(func(_ Scope, s *corev1.Service) (*catalog.Service, []Problem) {
			var problems []Problem
			for field, reason := range s.Annotations {
				problems = append(problems, Problem{field, reason})
			}
			return nil, problems
		})
		kind.Read = nil
		listed := map[string]time.Time{}
		s := storeOf(t, binding{
			report: func(p objectmeta.Problem) { listed[p.Name+" "+p.Field] = time.Now() },
			fixed: func(of objectmeta.Problem, before time.Time) {
				for name, last := range listed {
					if name[:1] == of.Name && last.Before(before) {
						delete(listed, name)
					}
				}
			},
		}, kind.Table(), Services().Table())
		service := func(name string, fields ...string) *corev1.Service {
			o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Annotations: map[string]string{}}}
			for _, f := range fields {
				o.Annotations[f] = "bad"
			}
			return o
		}
		for _, step := range []struct {
			what string
			do   func() error
			want []string
		}{
			{"two bad objects", func() error { _ = s.Update(service("a", "x", "y")); return s.Update(service("b", "x")) }, []string{"a x", "a y", "b x"}},
			{"a field is fixed", func() error { return s.Update(service("a", "y")) }, []string{"a y", "b x"}},
			{"another object changes", func() error { return s.Update(service("c")) }, []string{"a y", "b x"}},
			{"all is fixed", func() error { return s.Update(service("a")) }, []string{"b x"}},
			{"it is bad again", func() error { return s.Update(service("a", "x")) }, []string{"a x", "b x"}},
			{"it is deleted", func() error { return s.Delete(service("a")) }, []string{"b x"}},
			{"a listing has the other", func() error { return s.Replace([]any{service("b", "x")}, "9") }, []string{"b x"}},
			{"a listing lacks it", func() error { return s.Replace([]any{service("c", "z")}, "10") }, []string{"c z"}},
		} {
			time.Sleep(time.Second)
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for name := range listed {
				got = append(got, name)
			}
			if slices.Sort(got); !slices.Equal(got, step.want) {
				t.Errorf("%s: problems are %q, want %q", step.what, got, step.want)
			}
		}
	})
}

// However many objects have problems, a bounded number is remembered.
func TestReportedIsBounded(t *testing.T) {
	r := newReported(binding{report: func(objectmeta.Problem) {}, fixed: func(objectmeta.Problem, time.Time) {}})
	for i := range 2 * reportedLimit {
		r.add(objectmeta.Problem{Name: time.Duration(i).String()})
	}
	if len(r.of) != reportedLimit {
		t.Errorf("%d objects are remembered, want %d", len(r.of), reportedLimit)
	}
}
