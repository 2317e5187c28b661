package certfiles

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/testkit/certtest"
)

// pair is a self-signed certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t *testing.T, name string) pair {
	t.Helper()
	cert, key, err := certtest.SelfSigned(name)
	if err != nil {
		t.Fatal(err)
	}
	return pair{cert, key}
}

// newPairUntil returns a pair that expires at a time.
func newPairUntil(t *testing.T, name string, expiry time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: expiry}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// connect returns the name in the certificate of the server, or the error of the handshake.
func connect(t *testing.T, server *tls.Config, client ...tls.Certificate) (string, error) {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		conn := tls.Server(far, server)
		err := conn.Handshake()
		_ = conn.Close()
		served <- err
	}()
	conn := tls.Client(near, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: client})
	err := conn.Handshake()
	_, _ = conn.Read(make([]byte, 1)) // in TLS 1.3, the alert about a client certificate follows the handshake
	_ = near.Close()
	if refused := <-served; refused != nil || err != nil {
		return "", refused
	}
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// The files are replaced one after the other. The old certificate is served until the new pair is complete.
func TestFilesAreReplaced(t *testing.T) {
	first, second, third := newPair(t, "first"), newPair(t, "second-name"), newPair(t, "third-longer-name")
	dir := t.TempDir()
	f := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	write(t, f.Cert, first.cert)
	write(t, f.Key, first.key)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		config, err := f.Server(slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when, want string) {
			t.Helper()
			if got, err := connect(t, config); got != want {
				t.Errorf("%s: %q (%v), want %q", when, got, err, want)
			}
		}
		expect("at first", "first")
		write(t, f.Cert, second.cert)
		expect("at once", "first")
		for range 3 {
			time.Sleep(checkInterval)
			expect("with the key of the old certificate", "first")
		}
		write(t, f.Key, second.key)
		time.Sleep(checkInterval)
		expect("with both", "second-name")
		if err := os.Remove(f.Cert); err != nil {
			t.Fatal(err)
		}
		time.Sleep(checkInterval)
		expect("without the file", "second-name")
		write(t, f.Cert, third.cert)
		write(t, f.Key, third.key)
		time.Sleep(checkInterval)
		expect("when it is back", "third-longer-name")
		if n := strings.Count(log.String(), "level=ERROR"); n != 2 {
			t.Errorf("%d errors are logged, want one for each period with invalid files:\n%s", n, log.String())
		}
	})
}

// The expiry of the certificate in use is logged once. An expired certificate doesn't replace a valid one.
func TestExpiredCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expiry := time.Now().Add(time.Hour)
		old, renewed := newPairUntil(t, "old", expiry), newPairUntil(t, "renewed-name", expiry.Add(time.Hour))
		dir := t.TempDir()
		f := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
		write(t, f.Cert, old.cert)
		write(t, f.Key, old.key)
		var log bytes.Buffer
		config, err := f.Server(slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when, want string, warnings, errors int) {
			t.Helper()
			time.Sleep(checkInterval)
			if got, err := connect(t, config); got != want {
				t.Errorf("%s: %q (%v), want %q", when, got, err, want)
			}
			if w, e := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "level=ERROR"); w != warnings || e != errors {
				t.Errorf("%s: %d warnings and %d errors are logged, want %d and %d:\n%s", when, w, e, warnings, errors, log.String())
			}
		}
		expect("while it is valid", "old", 0, 0)
		time.Sleep(time.Until(expiry))
		expect("after it has expired", "old", 1, 0)
		expect("later", "old", 1, 0)
		write(t, f.Cert, renewed.cert)
		write(t, f.Key, renewed.key)
		expect("after the renewal", "renewed-name", 1, 0)
		write(t, f.Cert, old.cert)
		write(t, f.Key, old.key)
		expect("after the expired one was restored", "renewed-name", 1, 1)
		if !strings.Contains(log.String(), f.Cert+" expired at ") {
			t.Errorf("the log doesn't say what has expired: %s", log.String())
		}
	})
}

func TestClientCertificates(t *testing.T) {
	server, client, stranger := newPair(t, "server"), newPair(t, "client"), newPair(t, "stranger")
	dir := t.TempDir()
	f := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	write(t, f.Cert, server.cert)
	write(t, f.Key, server.key)
	write(t, f.ClientCA, client.cert)
	config, err := f.Server(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		with []pair
		ok   bool
	}{"none": {nil, false}, "of another authority": {[]pair{stranger}, false}, "of the authority": {[]pair{client}, true}} {
		var certs []tls.Certificate
		for _, p := range tt.with {
			cert, err := tls.X509KeyPair(p.cert, p.key)
			if err != nil {
				t.Fatal(err)
			}
			certs = append(certs, cert)
		}
		if _, err := connect(t, config, certs...); (err == nil) != tt.ok {
			t.Errorf("a client certificate, %s: %v", name, err)
		}
	}
}

// Invalid files are an error at the start.
func TestUnusableFiles(t *testing.T) {
	one, other := newPair(t, "one"), newPair(t, "other")
	for name, tt := range map[string]struct{ cert, key, ca []byte }{
		"no certificate":          {nil, one.key, nil},
		"another key":             {one.cert, other.key, nil},
		"no PEM":                  {[]byte("x"), one.key, nil},
		"authorities without PEM": {one.cert, one.key, []byte("x")},
	} {
		dir := t.TempDir()
		f := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
		if tt.cert != nil {
			write(t, f.Cert, tt.cert)
		}
		write(t, f.Key, tt.key)
		if tt.ca != nil {
			f.ClientCA = filepath.Join(dir, "ca.crt")
			write(t, f.ClientCA, tt.ca)
		}
		if _, err := f.Server(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
