package channel

import "testing"

func TestIsClosed(t *testing.T) {
	c := make(chan struct{})
	if IsClosed(c) {
		t.Error("an open channel counts as closed")
	}
	close(c)
	if !IsClosed(c) {
		t.Error("a closed channel counts as open")
	}
	if IsClosed(nil) {
		t.Error("a nil channel, which never closes, counts as closed")
	}
}
