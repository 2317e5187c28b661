package xds

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/internal/history"
)

// The history has each version of a resource that streams are sent, except for the first one.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := history.New(history.DefaultBytes, nil)
		web := service("shop", "web", "http:80")
		f := start(t, Config{History: log}, web, slice(web, "s", "http", 8080, "10.0.0.1"))
		for range 2 {
			a := f.ads()
			a.send(endpoints, httpCluster)
			a.one(endpoints)
		}
		f.change(put(slice(web, "s", "http", 8080, "10.0.0.1", "10.0.0.2")))
		f.change(put(slice(web, "s", "http", 8080, "10.0.0.2")))
		var got []string
		log.Walk(history.Scope{}, time.Time{}, func(key history.Key, e history.Entry) {
			got = append(got, fmt.Sprintf("%s/%s %s %s streams %d endpoints %d +%v -%v", key.Namespace, key.Name, e.Type, e.Object, e.Streams, e.Endpoints, e.Added, e.Removed))
		})
		want := []string{
			"shop/web eds " + httpCluster + " streams 2 endpoints 2 +[10.0.0.2:8080] -[]",
			"shop/web eds " + httpCluster + " streams 2 endpoints 1 +[] -[10.0.0.1:8080]",
		}
		if !slices.Equal(got, want) {
			t.Errorf("changes:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
