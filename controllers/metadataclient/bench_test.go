package metadataclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// BenchmarkWrite sends updates over a connection, and tells what a write costs both ends in CPU.
func BenchmarkWrite(b *testing.B) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		accept(w, r)
	}))
	b.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true, NextProtos: []string{"http/1.1"}}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	endpointSlices := Slices(client.DiscoveryV1()).EndpointSlices("ns")
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		if _, err := endpointSlices.Update(b.Context(), slice("ns"), metav1.UpdateOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpu returns the CPU time of the process in nanoseconds.
func cpu(b *testing.B) int64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return use.Utime.Nano() + use.Stime.Nano()
}
