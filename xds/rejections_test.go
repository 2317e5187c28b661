package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/signpostd/signpost/catalog"
)

// A rejection is of the Clusters that its reason names. Others keep their policies, also those whose names are
// part of a named one.
func TestNamesInRejections(t *testing.T) {
	const suffix = ".shop.svc.cluster.local:80"
	all := []string{"", "web" + suffix, "my-web" + suffix, "web-0.web" + suffix, "web" + suffix + "80"}
	for reason, want := range map[string][]string{
		"Error adding/updating cluster(s) my-web" + suffix + ": unknown policy":     {all[2]},
		"Error adding/updating cluster(s) web-0.web" + suffix + ": unknown policy":  {all[3]},
		`[resource index 3: web` + suffix + `80: INVALID_ARGUMENT]`:                 {all[4]},
		"web" + suffix + "80: unknown policy, web" + suffix + ": unknown policy":    {all[1], all[4]},
		"my-web" + suffix + " and web" + suffix:                                     {all[1], all[2]},
		"CDS response Cluster 'web" + suffix + "' validation error: unknown policy": {all[1]},
		"failed to convert web" + suffix + ".":                                      {all[1]},
		"web" + suffix:                                                              {all[1]},
		"errors: web" + suffix + ":unknown policy":                                  {all[1]},
		"unknown policy": all,
		strings.Repeat("x", maxReason-4) + " web" + suffix:                                        all,
		"other" + suffix + ", web.shop.svc.cluster.local:8, web.shop.svc.cluster.local, web.shop": all,
	} {
		t.Run(reason[:min(len(reason), 80)], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.LeastRequest}}
				web, mine := service("shop", "web", "http:80", "admin:8080"), service("shop", "my-web", "http:80")
				web.Policy, mine.Policy = policy, policy
				f := start(t, Config{}, web, mine)
				a := f.ads()
				a.send(clusters, all...)
				a.one(clusters)
				a.nack(clusters, reason, all...)
				got := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
					return f.only().types[clusters].subscriptions[name].rejected == [2]string{}
				})
				slices.Sort(got)
				if wanted := slices.Sorted(slices.Values(want)); !slices.Equal(got, wanted) {
					t.Errorf("rejected %s, want %s", got, wanted)
				}
			})
		})
	}
}

// A known rejection stays known when no further one fits, so that a client that repeats it doesn't
// fill the log.
func TestKnownRejections(t *testing.T) {
	rs := rejections{seen: map[rejection]struct{}{}}
	for n := range maxRejections {
		if !rs.isNew(rejection{name: fmt.Sprint(n)}) {
			t.Fatalf("rejection %d is known", n)
		}
	}
	for _, name := range []string{"0", "0", "1"} {
		if rs.isNew(rejection{name: name}) {
			t.Errorf("the known rejection %s is new", name)
		}
	}
	if !rs.isNew(rejection{name: "another"}) {
		t.Error("a new rejection is known")
	}
	if n := len(rs.seen); n != 1 {
		t.Errorf("%d rejections are kept, want the last one", n)
	}
}
