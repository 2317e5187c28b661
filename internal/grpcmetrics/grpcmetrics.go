// Package grpcmetrics counts the calls of gRPC servers, with the metrics that Linkerd's dashboards use
// (spec/destination.md §7.3). Package process makes one [Metrics] for all of its servers, and calls Init
// when the services of a server are registered.
//
// go-grpc-middleware has the same metrics, but looks up a counter by its labels for each message, which took
// 14 % of the CPU time of a fan-out (docs/decisions/what-we-tried.md). Here the counters of a method are
// looked up once.
//
// # Concurrency
//
// Everything may be called from any goroutine.
package grpcmetrics

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// handlingBuckets are those of Linkerd's controller, for long-lived streams.
var handlingBuckets = []float64{0.1, 1, 300, 3600}

// Metrics counts the streams of one server, and their messages.
type Metrics struct {
	started, received, sent *prometheus.CounterVec
	handled                 *prometheus.CounterVec
	seconds                 *prometheus.HistogramVec

	methods sync.Map // full name → *method
}

// New returns metrics registered with r.
func New(r prometheus.Registerer) *Metrics {
	labels := []string{"grpc_type", "grpc_service", "grpc_method"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &Metrics{
		started:  counter("grpc_server_started_total", "RPCs started on the server.", labels...),
		received: counter("grpc_server_msg_received_total", "Messages received on the server.", labels...),
		sent:     counter("grpc_server_msg_sent_total", "Messages sent by the server.", labels...),
		handled:  counter("grpc_server_handled_total", "RPCs completed on the server, by code.", append(labels, "grpc_code")...),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "grpc_server_handling_seconds", Help: "How long RPCs took on the server.", Buckets: handlingBuckets,
		}, labels),
	}
	r.MustRegister(m.started, m.received, m.sent, m.handled, m.seconds)
	return m
}

// Init creates the series of all methods of the registered services, so that they exist before the first
// call.
func (m *Metrics) Init(services map[string]grpc.ServiceInfo) {
	for service, info := range services {
		for _, method := range info.Methods {
			of := m.lookUp(&grpc.StreamServerInfo{
				FullMethod: "/" + service + "/" + method.Name, IsClientStream: method.IsClientStream, IsServerStream: method.IsServerStream,
			})
			for code := codes.OK; code <= codes.Unauthenticated; code++ {
				of.handled(code)
			}
		}
	}
}

// typeOf returns the value of the label grpc_type.
func typeOf(method *grpc.StreamServerInfo) string {
	switch {
	case method.IsClientStream && method.IsServerStream:
		return "bidi_stream"
	case method.IsClientStream:
		return "client_stream"
	case method.IsServerStream:
		return "server_stream"
	default:
		return "unary"
	}
}

type method struct {
	started, received, sent prometheus.Counter
	seconds                 prometheus.Observer
	handled                 func(codes.Code) prometheus.Counter
}

// of returns the metrics of a method. They are looked up once, because the labels take time, and more stack
// than a waiting handler should use.
func (m *Metrics) of(info *grpc.StreamServerInfo) *method {
	if known, ok := m.methods.Load(info.FullMethod); ok {
		return known.(*method)
	}
	of := m.lookUp(info)
	m.methods.Store(info.FullMethod, of)
	return of
}

func (m *Metrics) lookUp(info *grpc.StreamServerInfo) *method {
	kind := typeOf(info)
	service, name, _ := strings.Cut(strings.TrimPrefix(info.FullMethod, "/"), "/")
	return &method{
		started:  m.started.WithLabelValues(kind, service, name),
		received: m.received.WithLabelValues(kind, service, name),
		sent:     m.sent.WithLabelValues(kind, service, name),
		seconds:  m.seconds.WithLabelValues(kind, service, name),
		handled: func(code codes.Code) prometheus.Counter {
			return m.handled.WithLabelValues(kind, service, name, code.String())
		},
	}
}

// StreamInterceptor counts a call and its messages.
func (m *Metrics) StreamInterceptor(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	of := m.of(info)
	of.started.Inc()
	begun := time.Now()
	err := handler(srv, &counted{stream, of.received, of.sent})
	of.handled(status.Code(err)).Inc()
	of.seconds.Observe(time.Since(begun).Seconds())
	return err
}

// counted is a stream whose messages are counted.
type counted struct {
	grpc.ServerStream
	received, sent prometheus.Counter
}

// SendMsg implements grpc.ServerStream.
func (c *counted) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	if err == nil {
		c.sent.Inc()
	}
	return err
}

// RecvMsg implements grpc.ServerStream.
func (c *counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	if err == nil {
		c.received.Inc()
	}
	return err
}
