package empty

import (
	"testing"

	"github.com/signpostd/signpost/dns/source"
)

func TestPoll(t *testing.T) {
	s, err := Plugin().New().Open(source.Input{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Poll(t.Context())
	if err != nil || records == nil || len(records) != 0 {
		t.Errorf("case 201: got %#v, %v; want an empty list that isn't nil", records, err)
	}
}
