package controllers_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// wantLogged waits until the log has a line about an object of the namespace that matches. NS in the pattern
// stands for the namespace.
func (s *fixture) wantLogged(pattern string) {
	s.Helper()
	line := regexp.MustCompile("(?m)" + strings.ReplaceAll(pattern, "NS", s.ns) + "$")
	s.eventually(func() error {
		if text := s.log.about(s.ns); !line.MatchString(text) {
			return fmt.Errorf("no line matches %s in\n%s", line, text)
		}
		return nil
	})
}

// Each write is logged with its numbers of ready and other addresses, and each Event is logged.
func TestWritesAreLogged(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.2", notReady)
	s.pod("web-2", "web", "10.0.0.3", notReady)
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.settle()
	s.service("web")
	const since = ` trigger=\d{4}-\d\d-\d\dT\S+`
	s.wantLogged(`level=DEBUG msg="Object of a Service written" controller=endpoint service=NS/web kind=Endpoints name=web action=created ready=1 notReady=2` + since)
	s.wantLogged(`controller=endpoint_slice service=NS/web kind=EndpointSlice name=web-\S+ action=created ready=1 notReady=2` + since)
	s.wantLogged(`controller=endpoints_controller_workqueue service=NS/web kind=EndpointSlice name=\S+ action=created ready=1 notReady=0`)
	s.wantLogged(`level=DEBUG msg="Service synced" controller=endpoint service=NS/web created=1 updated=0 deleted=0 failed=0 took=\S+`)
	s.wantLogged(`level=DEBUG msg="Service synced" controller=endpoint_slice service=NS/web created=1 updated=0 deleted=0 failed=0 took=\S+`)
	s.editPodStatus("web-1", ready(true))
	s.wantLogged(`controller=endpoint service=NS/web kind=Endpoints name=web action=updated ready=2 notReady=1`)
	s.wantLogged(`kind=EndpointSlice name=web-\S+ action=updated ready=2 notReady=1`)

	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	s.wantLogged(`controller=endpoint_slice_mirroring service=NS/bare kind=EndpointSlice name=bare-\S+ action=created ready=1 notReady=0.*`)
	s.deleteEndpoints("bare")
	s.wantLogged(`controller=endpoint_slice_mirroring service=NS/bare kind=EndpointSlice name=bare-\S+ action=deleted ready=1 notReady=0`)

	defer s.refuse("bad")()
	s.service("bad")
	s.wantLogged(`level=DEBUG msg="Event is sent" kind=Endpoints namespace=NS name=bad type=Warning reason=FailedToCreateEndpoint message="Failed to create .*`)
}

// Deletions are logged, too. The test deletes a leftover, because the API server itself may delete the
// Endpoints of a deleted Service first.
func TestDeletionsAreLogged(t *testing.T) {
	s := playAlone(t)
	s.between(func() { s.endpoints("written", oneSubset("10.0.0.1")) })
	s.wantEndpoints("written", absent)
	s.wantLogged(`controller=endpoint service=NS/written kind=Endpoints name=written action=deleted ready=1 notReady=0`)
	s.wantLogged(`level=DEBUG msg="Service synced" controller=endpoint service=NS/written created=0 updated=0 deleted=1 failed=0 took=\S+`)
}
