package process

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/testkit/certtest"
)

// In a pod a changed secret ends the process, so that the kubelet starts it with the new one.
// Elsewhere it warns.
func TestRotation(t *testing.T) {
	for _, restarts := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "key")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("first")
		o, flags := configure.New(), pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Flags(flags)
		if err := flags.Parse([]string{"--pdns-api-key-file=" + path}); err != nil {
			t.Fatal(err)
		}
		if err := configure.ReadSecretFiles(flags); err != nil {
			t.Fatal(err)
		}
		said := &notingWriter{lines: make(chan string, 10)}
		r := rotation{publishers: []*configure.Options{o}, log: slog.New(slog.NewTextHandler(said, nil)), restarts: restarts, interval: time.Millisecond, spread: time.Millisecond}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.run(ctx) }()
		write("second")
		if line := <-said.lines; !strings.Contains(line, "--pdns-api-key-file") || strings.Contains(line, "second") || strings.Contains(line, "ends") != restarts {
			t.Errorf("restarts %v: the log says %s", restarts, line)
		}
		if !restarts {
			cancel()
		}
		if err := <-ended; err != nil {
			t.Errorf("restarts %v: %v", restarts, err)
		}
		cancel()
	}
}

// A secret with which the process couldn't start leaves it running, with one message. The process ends after
// the file was corrected.
func TestRotationToUnusableSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Zmlyc3RzZWNyZXQ=")
	o, flags := configure.New(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse([]string{
		"--provider=rfc2136", "--rfc2136-host=192.0.2.53", "--rfc2136-tsig-keyname=key", "--rfc2136-tsig-secret-alg=hmac-sha256", "--rfc2136-tsig-secret-file=" + path,
	}); err != nil {
		t.Fatal(err)
	}
	if err := configure.ReadSecretFiles(flags); err != nil {
		t.Fatal(err)
	}
	write("key { secret")
	synctest.Test(t, func(t *testing.T) {
		said := &notingWriter{lines: make(chan string, 10)}
		r := rotation{publishers: []*configure.Options{o}, log: slog.New(slog.NewTextHandler(said, nil)), restarts: true, interval: time.Second, spread: time.Second}
		ended := make(chan error, 1)
		go func() { ended <- r.run(t.Context()) }()
		time.Sleep(time.Minute)
		if len(said.lines) != 1 || len(ended) != 0 {
			t.Fatalf("%d messages, %d ends", len(said.lines), len(ended))
		}
		if line := <-said.lines; !strings.Contains(line, "--rfc2136-tsig-secret must be in base64") || strings.Contains(line, "key {") {
			t.Errorf("the log says %s", line)
		}
		write("c2Vjb25kc2VjcmV0")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// notingWriter passes each line on.
type notingWriter struct{ lines chan string }

func (w *notingWriter) Write(p []byte) (int, error) {
	w.lines <- string(bytes.TrimSpace(p))
	return len(p), nil
}

// Replaced authorities of --tls-ca end the process, once the file has a certificate.
func TestRotationOfAuthorities(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.crt")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate := func(name string) []byte {
		cert, _, err := certtest.SelfSigned(name)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	write(certificate("first"))
	o, flags := configure.New(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse([]string{"--provider=pdns", "--pdns-server=https://127.0.0.1:1", "--pdns-api-key=key", "--tls-ca=" + path}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.OpenProvider(t.Context(), configure.Input{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		said := &notingWriter{lines: make(chan string, 10)}
		r := rotation{publishers: []*configure.Options{o}, log: slog.New(slog.NewTextHandler(said, nil)), restarts: true, interval: time.Second, spread: time.Second}
		ended := make(chan error, 1)
		go func() { ended <- r.run(t.Context()) }()
		time.Sleep(3 * time.Second)
		write([]byte("half a certificate"))
		if line := <-said.lines; !strings.Contains(line, "can't be used") || !strings.Contains(line, "no certificate in PEM form") {
			t.Errorf("the log says %s", line)
		}
		write(certificate("second"))
		if line := <-said.lines; !strings.Contains(line, "this process ends") || !strings.Contains(line, "--tls-ca") {
			t.Errorf("the log says %s", line)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
