package eventlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func logger(out *bytes.Buffer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestSent(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for want, e := range map[string]Event{
		`level=DEBUG msg="Event is sent" kind=Service namespace=shop name=web type=Warning reason=Failed message="not now"`: {Object: service, Type: "Warning", Reason: "Failed", Message: "not now"},
		`level=DEBUG msg="Event is sent" kind=Thing namespace=shop name=web type=Normal reason=Ready message=m dryRun=true`: {
			Object: &corev1.ObjectReference{APIVersion: "example.org/v1", Kind: "Thing", Namespace: "shop", Name: "web"}, Type: "Normal", Reason: "Ready", Message: "m", DryRun: true,
		},
		`level=DEBUG msg="Event is sent" type=Normal reason=Ready message=m`: {Type: "Normal", Reason: "Ready", Message: "m"},
	} {
		var out bytes.Buffer
		Sent(logger(&out, slog.LevelDebug), e)
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("logged\n%s\nwant\n%s", got, want)
		}
	}
}

// At other levels than debug, Sent allocates nothing.
func TestNoCostBelowDebug(t *testing.T) {
	var out bytes.Buffer
	log := logger(&out, slog.LevelInfo)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	if n := testing.AllocsPerRun(100, func() { Sent(log, Event{Object: service, Reason: "Failed", Message: "not now"}) }); n != 0 {
		t.Errorf("%v allocations for an Event that isn't logged", n)
	}
	if out.Len() > 0 {
		t.Errorf("logged %s", &out)
	}
}
