package bindtest

import "testing"

// Serve is [Start] for a test. The server runs until the end of the test, and its log is printed if
// the test fails.
func Serve(t testing.TB, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("named said:\n%s", s.Log())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}
