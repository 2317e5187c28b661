package crd

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/crdtest"
)

// All objects are read at most once in DefaultRefresh, although each listing of a zone loads the claims. After a
// failed write, and if another process may have written, they are read again.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := crdtest.New(t)
		lists, refuses := 0, false
		config, client := server.Config(func(next http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Has("labelSelector") {
					lists++
				}
				if r.Method == http.MethodPost && refuses {
					return nil, http.ErrServerClosed
				}
				return next.RoundTrip(r)
			})
		})
		o, err := New(Options{Config: config, HTTPClient: client, ID: "me"})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want int) {
			t.Helper()
			for range 100 {
				if err := o.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if lists != want {
				t.Errorf("%s: the objects were read %d times, want %d", when, lists, want)
			}
			lists = 0
		}
		expect("at the start", 1)
		time.Sleep(DefaultRefresh - time.Nanosecond)
		expect("before they are old", 0)
		time.Sleep(time.Nanosecond)
		expect("later", 1)
		o.Outdate()
		expect("after another process", 1)
		refuses = true
		if _, _, err := o.Before(t.Context(), nil, []dns.Change{{New: record("www.example.com", "192.0.2.1")}}); err == nil {
			t.Error("a lost request isn't an error")
		}
		expect("after a failure", 1)
	})
}
