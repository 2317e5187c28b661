package certfiles

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
)

// shownBy returns the name in the certificate that a client shows to a server.
func shownBy(t *testing.T, client *tls.Config, server pair) string {
	t.Helper()
	own, err := tls.X509KeyPair(server.cert, server.key)
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	defer func() { _, _ = here.Close(), there.Close() }()
	accepting := tls.Server(there, &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12})
	done := make(chan error, 1)
	go func() { done <- tls.Client(here, client).Handshake() }()
	if err := accepting.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return accepting.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// A client shows the certificate that is in its files when it connects. While the certificate doesn't have the
// key in the other file, it shows the previous one.
func TestClientCertificateReplaced(t *testing.T) {
	dir := t.TempDir()
	files := ClientFiles{CA: filepath.Join(dir, "ca"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	server, first, second := newPair(t, "server.test"), newPair(t, "first.test"), newPair(t, "second.test")
	write(t, files.CA, server.cert)
	write(t, files.Cert, first.cert)
	write(t, files.Key, first.key)
	client := &tls.Config{ServerName: "server.test", MinVersion: tls.VersionTLS12}
	if err := files.AddTo(client, ClientFiles{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		path string
		text []byte
		want string
	}{{files.Cert, first.cert, "first.test"}, {files.Cert, second.cert, "first.test"}, {files.Key, second.key, "second.test"}, {files.Key, nil, "second.test"}} {
		write(t, step.path, step.text)
		if got := shownBy(t, client, server); got != step.want {
			t.Errorf("the client shows the certificate of %s, want %s", got, step.want)
		}
	}
}
