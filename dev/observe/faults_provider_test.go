package observe

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// A webhookProvider is a program that publishes records, and does so badly.
type webhookProvider struct {
	*httptest.Server
	// reading and writing answer requests, unless they are nil.
	reading, writing atomic.Pointer[http.HandlerFunc]
}

// startWebhook starts a provider that works: its zones are empty, and it takes all changes.
func startWebhook(t *testing.T) *webhookProvider {
	t.Helper()
	w := &webhookProvider{}
	handle := func(own *atomic.Pointer[http.HandlerFunc], otherwise http.HandlerFunc) http.HandlerFunc {
		return func(response http.ResponseWriter, request *http.Request) {
			if h := own.Load(); h != nil {
				(*h)(response, request)
				return
			}
			otherwise(response, request)
		}
	}
	answer := func(body string) http.HandlerFunc {
		return func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Content-Type", webhook.MediaType)
			_, _ = io.WriteString(response, body)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", answer(`{"include":["example.net"]}`))
	mux.HandleFunc("GET /records", handle(&w.reading, answer(`[]`)))
	mux.HandleFunc("POST /adjustendpoints", func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Content-Type", webhook.MediaType)
		_, _ = io.Copy(response, request.Body)
	})
	mux.HandleFunc("POST /records", handle(&w.writing, func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(http.StatusNoContent) }))
	w.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// status returns a handler that answers with a status.
func status(code int) *http.HandlerFunc {
	h := http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { response.WriteHeader(code) })
	return &h
}

// silent is a handler that answers nothing until the client goes away.
func silent() *http.HandlerFunc {
	h := http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // only then does the server see that the client is gone
		<-request.Context().Done()
	})
	return &h
}

// startPublisher starts a process that publishes a name with a provider.
func startPublisher(t *testing.T, w *webhookProvider) *target {
	t.Helper()
	return startPublisherWith(t, fmt.Sprintf("provider: webhook, webhook-provider-url: %q, webhook-provider-read-timeout: 1h", w.URL))
}

// startPublisherWith starts a publisher with these fields of its provider, and variables.
func startPublisherWith(t *testing.T, provider string, env ...string) *target {
	t.Helper()
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, `
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {external-dns.alpha.kubernetes.io/hostname: web.example.net, external-dns.alpha.kubernetes.io/target: 192.0.2.1}
spec: {type: LoadBalancer, ports: [{port: 80}]}
`, namespace)
	return start(t, "signpost-0", fmt.Sprintf(`
apiVersion: signpost.dev/v1alpha1
kind: Config
kubeconfig: %[1]s
admin: {address: "ADMIN"}
dns:
  leaderElection: {resourceNamespace: %[2]s}
  publishers:
    - {name: hook, interval: 1s, source: [service], %[3]s, policy: sync, txt-owner-id: hook, namespace: [%[2]s]}
`, cluster.Kubeconfig, namespace, provider), env...)
}

// A provider refuses each change.
func TestNamesFailing(t *testing.T) {
	t.Parallel()
	w := startWebhook(t)
	w.writing.Store(status(http.StatusBadRequest))
	p := startPublisher(t, w)
	awaitMetric(t, p, "signpost_dns_names_failing", time.Minute, positive)
	newPrometheus(t, p).wantFiring(16*time.Minute, "SignpostNamesFailing")
}

// A provider doesn't answer to a change: the name waits.
func TestNamesPending(t *testing.T) {
	t.Parallel()
	w := startWebhook(t)
	w.writing.Store(silent())
	p := startPublisher(t, w)
	awaitMetric(t, p, "signpost_dns_names_pending", time.Minute, positive)
	newPrometheus(t, p).wantFiring(16*time.Minute, "SignpostNamesPending")
}

// A provider says again and again that there are too many requests.
func TestProviderThrottled(t *testing.T) {
	t.Parallel()
	w := startWebhook(t)
	w.reading.Store(status(http.StatusTooManyRequests))
	p := startPublisher(t, w)
	awaitMetric(t, p, "external_dns_http_request_duration_seconds_count", time.Minute, positive)
	prom := newPrometheus(t, p)
	prom.scrapeOften(120, 80, nil, "SignpostProviderThrottled")
	prom.wantFiring(0, "SignpostProviderThrottled")
}

// Route 53 throttles with the status 400. Its library repeats a request for some seconds.
func TestRoute53Throttled(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(response, `<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`)
	}))
	t.Cleanup(api.Close)
	p := startPublisherWith(t, "provider: aws", "AWS_ENDPOINT_URL_ROUTE_53="+api.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
	awaitMetric(t, p, "signpost_dns_provider_failing", time.Minute, positive)
	prom := newPrometheus(t, p)
	prom.scrapeOften(60, 80, nil, "SignpostProviderThrottled")
	prom.wantFiring(0, "SignpostProviderThrottled")
}

// A provider doesn't answer any more when its zone is read, and the publisher waits for it.
func TestPublisherSilent(t *testing.T) {
	t.Parallel()
	w := startWebhook(t)
	p := startPublisher(t, w)
	awaitMetric(t, p, "external_dns_controller_last_reconcile_timestamp_seconds", time.Minute, positive)
	prom := newPrometheus(t, p)
	prom.scrapeOften(120, 10, nil)
	if prom.fired["SignpostPublisherSilent"] != "" {
		t.Error("the alert fires while zones are read")
	}
	w.reading.Store(silent())
	prom.scrapeOften(120, 200, nil, "SignpostPublisherSilent")
	prom.wantFiring(0, "SignpostPublisherSilent")
}
