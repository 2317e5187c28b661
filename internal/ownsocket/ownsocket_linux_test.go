package ownsocket

import (
	"io"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// No serving process has the port 0.
const port = 0

func TestOwnUserConnects(t *testing.T) {
	l, err := Listen(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answered := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
		answered <- err
	}()
	conn, err := Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if _, err := Listen(t.Context(), port); err == nil {
		t.Error("two processes have one name")
	}
}

// Only processes of our user and in our container are accepted (tenants S4).
func TestAllowed(t *testing.T) {
	for name, test := range map[string]struct {
		peer syscall.Ucred
		user int
		want bool
	}{
		"kubectl exec":           {syscall.Ucred{Pid: 42, Uid: 65532}, 65532, true},
		"root in the container":  {syscall.Ucred{Pid: 42, Uid: 0}, 65532, true},
		"a sidecar":              {syscall.Ucred{Pid: 0, Uid: 1337}, 65532, false},
		"a sidecar of our user":  {syscall.Ucred{Pid: 0, Uid: 65532}, 65532, false},
		"root elsewhere":         {syscall.Ucred{Pid: 0, Uid: 0}, 65532, false},
		"another user, one host": {syscall.Ucred{Pid: 42, Uid: 1000}, 65532, false},
	} {
		if got := allowed(&test.peer, test.user); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestPeerIsThisProcess(t *testing.T) {
	l, err := Listen(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	peer, err := peerOf(conn)
	if err != nil || int(peer.Uid) != os.Getuid() || peer.Pid == 0 {
		t.Errorf("%+v, %v", peer, err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
}
