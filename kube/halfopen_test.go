package kube

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// The process itself asks after 10 s of silence, and waits 5 s for the answer.
var (
	readIdle    = flag.Duration("kube.readidle", time.Second, "silence of the API server after which TestHalfOpenConnection has it asked")
	pingTimeout = flag.Duration("kube.pingtimeout", time.Second, "how long TestHalfOpenConnection waits for its answer")
)

// Faults, row 3: nobody says that a connection has died. It is noticed within the time that the
// settings of HTTP/2 allow, and the watch goes on where it was over a new connection, without
// listing everything again.
func TestHalfOpenConnection(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", strconv.Itoa(int(readIdle.Seconds())))
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", strconv.Itoa(int(pingTimeout.Seconds())))
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	target, err := url.Parse(api.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	link, err := network.NewLink(target.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	config := rest.CopyConfig(api.Config)
	config.Host = "https://" + link.Addr()
	way, config := lead(t, config)
	var watches atomic.Int32
	way.changeBy(func(r *http.Request) *http.Response {
		if r.URL.Query().Get("watch") != "" {
			watches.Add(1)
		}
		return nil
	})
	services := Services().Table()
	c := runWith(t, Options{Config: config}, services)
	settle(t, c)
	lists, before := way.listed(), watches.Load()

	end := link.HalfOpen(network.Both)
	began := time.Now()
	// Listing again would get no answer either, so the first sign is another request for a watch.
	kubetest.Eventually(t, time.Minute, func() error {
		if watches.Load() == before {
			return fmt.Errorf("not noticed: %+v", status(c, "service"))
		}
		return nil
	})
	noticed := time.Since(began)
	end()
	createService(t, api, namespace, "late")
	kubetest.Eventually(t, *readIdle+*pingTimeout+30*time.Second, func() error {
		if services.Get(namespace, "late") == nil {
			return fmt.Errorf("the table has %v", namesOf(services))
		}
		return nil
	})
	t.Logf("noticed after %v; a change arrived %v after the connection had died", noticed, time.Since(began))
	if limit := *readIdle + *pingTimeout + 10*time.Second; noticed > limit {
		t.Errorf("noticed after %v, want at most %v", noticed, limit)
	}
	if n := way.listed() - lists; n != 0 {
		t.Errorf("the kind was listed %d times: the watch could have gone on", n)
	}
}
