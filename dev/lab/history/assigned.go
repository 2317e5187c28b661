package history

import (
	"encoding/json"
	"fmt"
)

// AssignedEndpoint is what a ClusterLoadAssignment says of one address.
type AssignedEndpoint struct {
	Draining bool   `json:"draining,omitempty"` // clients send it no new requests
	Region   string `json:"region,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Priority uint32 `json:"priority,omitempty"`
	Weight   uint32 `json:"weight,omitempty"` // of the endpoint; zero if it has none
	Hostname string `json:"hostname,omitempty"`
	// LocalityWeight is the weight of the endpoint's locality.
	LocalityWeight uint32 `json:"localityWeight,omitempty"`
	// First is the first address of an endpoint that has several, if this is another one.
	First string `json:"first,omitempty"`
}

// Text returns the endpoint as the values of [Stream.Addresses] are written. Equal endpoints have equal
// texts.
func (e AssignedEndpoint) Text() string {
	text, err := json.Marshal(e)
	if err != nil { // only of a type that JSON has no word for
		panic(fmt.Sprintf("write %+v as JSON: %v", e, err))
	}
	return string(text)
}

// ReadAssignedEndpoint reads what Text has written.
func ReadAssignedEndpoint(text string) (AssignedEndpoint, error) {
	var e AssignedEndpoint
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return AssignedEndpoint{}, fmt.Errorf("read the endpoint %.100q of a ClusterLoadAssignment: %w", text, err)
	}
	return e, nil
}
