package linked

import (
	"testing"

	"k8s.io/client-go/rest"
)

// Requests to a linked cluster name our role, whatever its kubeconfig says.
func TestUserAgentOfLinks(t *testing.T) {
	l := &link{config: &rest.Config{UserAgent: "theirs"}}
	if got := l.configFor(&rest.Config{UserAgent: "ours"}).UserAgent; got != "ours" {
		t.Errorf("the User-Agent is %q", got)
	}
}
