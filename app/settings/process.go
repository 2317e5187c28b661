package settings

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/logging"
	"github.com/signpostd/signpost/internal/tracing"
)

// Process is the settings that are independent of the roles.
type Process struct {
	// Kubeconfig is a path. If it is empty, the rules of client-go apply.
	Kubeconfig          string
	LogLevel, LogFormat string
	// MetricsAddr is the address of the admin server.
	MetricsAddr string
	EnablePProf bool
	// InspectAddr is the address of the inspection API and the page; empty means that of the admin
	// server.
	InspectAddr string
	// TrustLoopback lets clients on the loopback interface read the inspection API without a token.
	TrustLoopback bool
	// ShutdownGrace is how long open streams and loops may take to end.
	ShutdownGrace time.Duration
	// HistoryBytes limits the history of changes; 0 keeps none.
	HistoryBytes int
	// TraceCollector is the address for spans, in the form of [tracing.ParseCollector]; empty for
	// none.
	TraceCollector string
}

func defaultProcess() Process {
	return Process{
		LogLevel:      "info",
		LogFormat:     "plain",
		MetricsAddr:   ":9996",
		TrustLoopback: true,
		ShutdownGrace: 10 * time.Second,
		HistoryBytes:  history.DefaultBytes,
	}
}

// Settings implements [Section].
func (o *Process) Settings() []Setting {
	return []Setting{
		{Flag: "kubeconfig", Path: "kubeconfig", Value: textValue{&o.Kubeconfig}, Usage: "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod"},
		{Flag: "log-level", Path: "log.level", Value: textValue{&o.LogLevel}, Usage: "lowest `level` to log: panic, fatal, error, warn, info, debug or trace"},
		{Flag: "log-format", Path: "log.format", Value: formatValue{textValue{&o.LogFormat}}, Usage: "`format` of the log: plain (or text, which is the same) or json"},
		{Flag: "metrics-addr", Path: AdminAddress, Value: textValue{&o.MetricsAddr}, Usage: "`address` to serve /metrics, /ready and /ping on"},
		{Flag: "enable-pprof", Path: "admin.pprof", Value: boolValue(&o.EnablePProf), Usage: "serve profiles under /debug/pprof/ on the metrics address"},
		{Flag: "inspect-addr", Path: InspectionAddress, Value: textValue{&o.InspectAddr}, Usage: inspectUsage},
		{Flag: "inspect-trust-loopback", Path: "inspection.trustLoopback", Value: boolValue(&o.TrustLoopback), Usage: trustUsage},
		{Flag: "history-bytes", Path: "inspection.historyBytes", Value: intValue(&o.HistoryBytes), Usage: historyUsage},
		{Flag: "shutdown-grace", Path: "shutdownGrace", Value: durationValue(&o.ShutdownGrace), Usage: "how long open streams may take to end after SIGTERM; a second signal ends the process at once"},
		{Flag: "trace-collector", Path: "traces.collector", Value: textValue{&o.TraceCollector}, Usage: traceUsage},
	}
}

// inspectUsage is the usage of --inspect-addr, which all roles have.
const inspectUsage = "`address` to serve the inspection API and the page on, such as 127.0.0.1:9997, apart from the metrics and probes; empty to serve all on one address"

// trustUsage is the usage of --inspect-trust-loopback, which all roles have.
const trustUsage = "let clients that connect from 127.0.0.1 or ::1, such as kubectl port-forward, read the inspection API without a token; false if a proxy beside the process connects from there"

// traceUsage is the usage of --trace-collector, which all roles have.
const traceUsage = "`address` (HOST:PORT, or https://HOST:PORT for TLS) of an OpenTelemetry collector to send traces to, by OTLP over gRPC; empty for no traces"

// historyUsage is the usage of --history-bytes, which all roles have.
const historyUsage = "bytes of memory for the last hour of changes, which signpost history shows; 0 keeps none"

// formatValue is the format of the log. ExternalDNS' name for a format is accepted too.
type formatValue struct{ textValue }

// Set implements pflag.Value.
func (v formatValue) Set(s string) error {
	if s == "text" {
		s = "plain"
	}
	return v.textValue.Set(s)
}

func (v formatValue) decode(n *yaml.Node) error {
	if err := v.textValue.decode(n); err != nil {
		return err
	}
	return v.Set(*v.target)
}

// Overrides returns the settings that can be given as flags of `signpost run` beside a config file.
func (o *Process) Overrides() []Setting {
	return slices.DeleteFunc(o.Settings(), func(s Setting) bool {
		return !slices.Contains([]string{"kubeconfig", "log-level", "log-format"}, s.Flag)
	})
}

// validate implements [Section].
func (o *Process) validate() []problem {
	found := checkAddress("metrics-addr", o.MetricsAddr)
	if o.InspectAddr != "" {
		found = append(found, checkAddress("inspect-addr", o.InspectAddr)...)
	}
	if _, err := logging.ParseLevel(o.LogLevel); err != nil {
		found = append(found, problem{flags: []string{"log-level"}, reason: err.Error()})
	}
	if !logging.Format(o.LogFormat).Known() {
		found = append(found, problem{
			severity: refusedInFile, flags: []string{"log-format"},
			reason: "must be plain or json", instead: "plain is used",
		})
	}
	if o.HistoryBytes != 0 && o.HistoryBytes < history.MinBytes {
		found = append(found, problem{
			flags: []string{"history-bytes"}, reason: fmt.Sprintf("must be 0 for no history, or at least %d", history.MinBytes),
		})
	}
	if o.ShutdownGrace <= 0 {
		found = append(found, problem{flags: []string{"shutdown-grace"}, reason: "must be more than 0s"})
	}
	if _, err := tracing.ParseCollector(o.TraceCollector); err != nil && o.TraceCollector != "" {
		found = append(found, problem{
			severity: refusedInFile, flags: []string{"trace-collector"}, reason: err.Error(), instead: "no traces are sent",
		})
	}
	return found
}

// Collector returns the address for traces; empty for none or for an invalid one.
func (o *Process) Collector() string {
	if _, err := tracing.ParseCollector(o.TraceCollector); err != nil {
		return ""
	}
	return o.TraceCollector
}

func checkAddress(flag, address string) []problem {
	_, port, err := net.SplitHostPort(address)
	if n, wrong := strconv.ParseUint(port, 10, 64); wrong == nil && n > math.MaxUint16 {
		return []problem{{flags: []string{flag}, reason: "the port must be from 0 to 65535"}}
	}
	if err == nil {
		return nil
	}
	return []problem{{flags: []string{flag}, reason: "must be HOST:PORT, or :PORT for all addresses of the host"}}
}
