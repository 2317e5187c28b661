package providertest

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a provider that need a server: it starts the server, runs the tests, checks for
// leaked goroutines, stops the server and exits. Call it from TestMain.
func Main(m *testing.M, server string, start func() (stop func(), err error)) {
	stop, err := start()
	if err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", server, err)
		os.Exit(1)
	}
	started := goleak.IgnoreCurrent()
	code := m.Run()
	// Some tests use the default client.
	http.DefaultClient.CloseIdleConnections()
	if code == 0 {
		if err := goleak.Find(started); err != nil {
			fmt.Fprintln(os.Stderr, "leaked:", err)
			code = 1
		}
	}
	stop()
	os.Exit(code)
}
