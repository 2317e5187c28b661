package rfc2136

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/bindtest"
)

// knot starts Knot DNS with zones that may be transferred and updated with the usual key. It ends
// with the test.
func knot(t *testing.T, zones []bindtest.Zone) (port uint16) {
	t.Helper()
	program, err := childprocess.Find("knotd")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if port, err = childprocess.Port(); err != nil {
		t.Fatal(err)
	}
	var conf strings.Builder
	fmt.Fprintf(&conf, "server:\n  rundir: %q\n  listen: 127.0.0.1@%d\n", dir, port)
	conf.WriteString("  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\nlog:\n  - target: stderr\n    any: warning\n")
	fmt.Fprintf(&conf, "database:\n  storage: %q\n", dir)
	fmt.Fprintf(&conf, "key:\n  - id: %s\n    algorithm: %s\n    secret: %s\n", testKey.Name, testKey.Algorithm, testKey.Secret)
	fmt.Fprintf(&conf, "acl:\n  - id: signpost\n    key: %s\n    action: [transfer, update]\n", testKey.Name)
	fmt.Fprintf(&conf, "template:\n  - id: default\n    storage: %q\n    zonefile-sync: -1\n    acl: signpost\nzone:\n", dir)
	for i, z := range zones {
		file := fmt.Sprintf("zone%d", i)
		fmt.Fprintf(&conf, "  - domain: %s\n    file: %s\n", z.Name, file)
		if err := os.WriteFile(filepath.Join(dir, file), []byte(z.Contents()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "knot.conf")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var log childprocess.Log
	cmd := exec.Command(program, "-c", file)
	cmd.Stdout, cmd.Stderr = &log, &log
	process, err := childprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Stop(10 * time.Second)
		if t.Failed() {
			t.Logf("Knot said:\n%s", log.String())
		}
	})
	last := new(mdns.Msg)
	last.SetQuestion(zones[len(zones)-1].Name+".", mdns.TypeSOA)
	ctx := withTimeout(t, 20*time.Second)
	for {
		reply, err := mdns.ExchangeContext(ctx, last, net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
		if err == nil && len(reply.Answer) == 1 {
			return port
		}
		select {
		case <-process.Exited():
			t.Fatal("Knot has ended")
		case <-ctx.Done():
			t.Fatalf("Knot isn't ready: %v, %v", reply, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
