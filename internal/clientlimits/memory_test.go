package clientlimits

import (
	"net/netip"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestMemory shows that the memory of responses counts for the client that needs them first, that
// growth above a limit changes nothing, and that zero ends the use.
func TestMemory(t *testing.T) {
	greedy, other := netip.MustParseAddrPort("10.0.0.1:0"), netip.MustParseAddrPort("10.0.0.2:0")
	limits := Limits{MaxResponseBytesPerClient: 100}.WithDefaults()
	refused := 0
	c := NewClients(&limits, func(r Refusal, _ ClientID) {
		if r != RefusedMemoryOfClient {
			t.Errorf("refused: %s", r)
		}
		refused++
	})
	a, b, d := c.Memory(greedy), c.Memory(greedy), c.Memory(other)
	for _, step := range []struct {
		memory *Memory
		bytes  int
		want   codes.Code
	}{
		{&a, 60, codes.OK},
		{&b, 41, codes.ResourceExhausted},
		{&b, 40, codes.OK},
		{&a, 61, codes.ResourceExhausted},
		{&d, 100, codes.OK},
		{&b, 0, codes.OK},
		{&a, 100, codes.OK},
		{&a, 10, codes.OK},
		{&b, 90, codes.OK},
	} {
		if got := status.Code(step.memory.Resize(step.bytes)); got != step.want {
			t.Errorf("%d bytes: %s, want %s", step.bytes, got, step.want)
		}
	}
	for _, m := range []*Memory{&a, &b, &d} {
		if err := m.Resize(0); err != nil {
			t.Error(err)
		}
	}
	if refused != 2 || !c.Idle() {
		t.Errorf("%d are refused; %v is in use", refused, c.all)
	}
	if err := new(Memory).Resize(1 << 40); err != nil {
		t.Errorf("without limits: %v", err)
	}
}
