package logging_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/internal/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseLevel(t *testing.T) {
	tests := map[string]struct {
		level slog.Level
		err   string
	}{
		"panic":   {level: logging.LevelPanic},
		"fatal":   {level: logging.LevelFatal},
		"error":   {level: slog.LevelError},
		"warn":    {level: slog.LevelWarn},
		"warning": {level: slog.LevelWarn},
		"info":    {level: slog.LevelInfo},
		"INFO":    {level: slog.LevelInfo},
		"debug":   {level: slog.LevelDebug},
		"trace":   {level: logging.LevelTrace},
		"":        {err: "must be one of panic, fatal, error, warn, info, debug, trace"},
		"loud":    {err: "must be one of panic, fatal, error, warn, info, debug, trace"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			level, err := logging.ParseLevel(name)
			if got := errorText(err); got != tt.err || level != tt.level {
				t.Errorf("ParseLevel(%q) = %v, %q; want %v, %q", name, level, got, tt.level, tt.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNew(t *testing.T) {
	write := func(l *slog.Logger) {
		for _, level := range []slog.Level{logging.LevelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, logging.LevelFatal, logging.LevelPanic} {
			l.Log(t.Context(), level, "Service is gone", "service", "web")
		}
		l.WithGroup("g").Warn("Grouped", "level", "mine")
	}
	tests := map[string]struct {
		config logging.Config
		want   string
	}{
		"plain": {
			config: logging.Config{Level: slog.LevelWarn, Format: logging.Plain},
			want: `time=T level=warn msg="Service is gone" service=web
time=T level=error msg="Service is gone" service=web
time=T level=fatal msg="Service is gone" service=web
time=T level=panic msg="Service is gone" service=web
time=T level=warn msg=Grouped g.level=mine
`,
		},
		"anything else is plain": {
			config: logging.Config{Level: logging.LevelPanic, Format: "xml"},
			want:   "time=T level=panic msg=\"Service is gone\" service=web\n",
		},
		"json": {
			config: logging.Config{Level: logging.LevelTrace, Format: logging.JSON},
			want: `{"time":"T","level":"trace","msg":"Service is gone","service":"web"}
{"time":"T","level":"debug","msg":"Service is gone","service":"web"}
{"time":"T","level":"info","msg":"Service is gone","service":"web"}
{"time":"T","level":"warn","msg":"Service is gone","service":"web"}
{"time":"T","level":"error","msg":"Service is gone","service":"web"}
{"time":"T","level":"fatal","msg":"Service is gone","service":"web"}
{"time":"T","level":"panic","msg":"Service is gone","service":"web"}
{"time":"T","level":"warn","msg":"Grouped","g":{"level":"mine"}}
`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tt.config.Output = &out
			write(logging.New(tt.config))
			if diff := cmp.Diff(tt.want, withoutTime(out.String())); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormatKnown(t *testing.T) {
	for f, want := range map[logging.Format]bool{logging.Plain: true, logging.JSON: true, "": false, "xml": false} {
		if got := f.Known(); got != want {
			t.Errorf("Format(%q).Known() = %v, want %v", f, got, want)
		}
	}
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT[^ "]*`)

func withoutTime(s string) string { return timestamp.ReplaceAllString(s, "T") }

// writeThroughLibraries logs with klog and grpclog at all their levels.
func writeThroughLibraries() {
	for _, v := range []klog.Level{0, 1, 2, 3, 6, 7, 10, 11} {
		klog.V(v).InfoS("Verbose", "v", int(v))
	}
	klog.Background().WithName("reflector").WithValues("kind", "Pod").Info("Structured")
	klog.Infof("Formatted %d", 1)
	klog.ErrorS(errors.New("refused"), "Failed to list")
	klog.ErrorS(fmt.Errorf("read: %w", context.Canceled), "Cancelled by ourselves")
	grpclog.Info("a", "b")
	grpclog.Infoln("a", "b")
	grpclog.Infof("a %s", "b")
	grpclog.Warning("gone")
	grpclog.Warningln("gone")
	grpclog.Warningf("gone %d", 1)
	grpclog.Error("broken")
	grpclog.Errorln("broken")
	grpclog.Errorf("broken %d", 1)
}

// everything is the output of writeThroughLibraries at trace. At other levels, the lines of less severe
// levels are missing.
const everything = `level=debug msg=Verbose v=0
level=debug msg=Verbose v=1
level=debug msg=Verbose v=2
level=debug msg=Verbose v=3
level=trace msg=Verbose v=6
level=trace msg=Verbose v=7
level=debug msg=Structured kind=Pod logger=reflector
level=debug msg="Formatted 1"
level=error msg="Failed to list" err=refused
level=debug msg="Cancelled by ourselves" err="read: context canceled"
level=trace msg="gRPC library" text="a b"
level=trace msg="gRPC library" text="a b"
level=trace msg="gRPC library" text="a b"
level=debug msg="gRPC library" text=gone
level=debug msg="gRPC library" text=gone
level=debug msg="gRPC library" text="gone 1"
level=error msg="gRPC library" text=broken
level=error msg="gRPC library" text=broken
level=error msg="gRPC library" text="broken 1"
`

func TestRouteLibraries(t *testing.T) {
	tests := map[string]*regexp.Regexp{
		"error": regexp.MustCompile(`^level=error`),
		"info":  regexp.MustCompile(`^level=(error|info)`),
		"debug": regexp.MustCompile(`^level=(error|info|debug)`),
		"trace": regexp.MustCompile(`^`),
	}
	for name, shown := range tests {
		t.Run(name, func(t *testing.T) {
			level, err := logging.ParseLevel(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			log := logging.New(logging.Config{Level: level, Output: &out})
			if err := logging.RouteLibraries(log, level); err != nil {
				t.Fatal(err)
			}
			writeThroughLibraries()
			if verbose := grpclog.V(2); verbose != (name == "trace") {
				t.Errorf("grpclog.V(2) = %v at %s", verbose, name)
			}
			var want string
			for line := range strings.Lines(everything) {
				if shown.MatchString(line) {
					want += line
				}
			}
			got := regexp.MustCompile(`(?m)^time=T `).ReplaceAllString(withoutTime(out.String()), "")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// Loggers from contexts ignore the verbosity of klog. Lines above 7, such as the bodies of requests, are
// never logged.
func TestBodiesAreNeverLogged(t *testing.T) {
	log := logging.New(logging.Config{Level: logging.LevelTrace, Output: &bytes.Buffer{}})
	if err := logging.RouteLibraries(log, logging.LevelTrace); err != nil {
		t.Fatal(err)
	}
	contextual := klog.FromContext(t.Context())
	for v, want := range map[int]bool{6: true, 7: true, 8: false, 9: false} {
		if got := contextual.V(v).Enabled(); got != want {
			t.Errorf("V(%d) is enabled: %v, want %v", v, got, want)
		}
	}
}

// A library may log while its log is redirected, for example in a connection attempt that is no longer
// needed.
func TestRouteWhileLibrariesLog(t *testing.T) {
	route := func() {
		if err := logging.RouteLibraries(logging.New(logging.Config{Level: logging.LevelTrace, Output: io.Discard}), logging.LevelTrace); err != nil {
			t.Error(err)
		}
	}
	route()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			writeThroughLibraries()
		}
	}()
	for range 100 {
		route()
	}
	<-done
}
