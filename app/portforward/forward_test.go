package portforward

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// Errors of forwarding have no words of client-go, and many are cut.
func TestErrorsOfForwarding(t *testing.T) {
	for text, want := range map[string]string{
		"error upgrading connection: unable to upgrade connection: error dialing backend: dial tcp: no such host": "the API server can't reach the kubelet of its node: dial tcp: no such host",
		"unable to upgrade connection: pod not found":                                                             "pod not found",
		"error upgrading connection: pods \"a\" is forbidden: User \"b\" cannot create\n":                         "pods \"a\" is forbidden: User \"b\" cannot create: the right to create pods/portforward is needed",
	} {
		if got := explain(errors.New(text)).Error(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	lines := strings.Split(noneReached(slices.Repeat([]string{"unreachable"}, maxReasons+3)).Error(), "\n")
	if len(lines) != maxReasons+2 || lines[len(lines)-1] != "and 3 more pods" {
		t.Errorf("the error has the lines %q", lines)
	}
}
