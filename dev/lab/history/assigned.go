package history

import (
	"encoding/json"
	"fmt"
)

// AssignedEndpoint has the fields of one address in a ClusterLoadAssignment.
type AssignedEndpoint struct {
	Draining bool   `json:"draining,omitempty"` // clients send it no new requests
	Region   string `json:"region,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Priority uint32 `json:"priority,omitempty"`
	Weight   uint32 `json:"weight,omitempty"` // of the endpoint, or zero
	Hostname string `json:"hostname,omitempty"`
	// LocalityWeight is the weight of the endpoint's locality.
	LocalityWeight uint32 `json:"localityWeight,omitempty"`
	// First is the first address of an endpoint with several, if this is another one.
	First string `json:"first,omitempty"`
}

// Text returns the endpoint in the format of the values of [Stream.Addresses]. Equal endpoints have equal
// texts.
func (e AssignedEndpoint) Text() string {
	text, err := json.Marshal(e)
	if err != nil { // impossible for these types
		panic(fmt.Sprintf("write %+v as JSON: %v", e, err))
	}
	return string(text)
}

// ReadAssignedEndpoint parses the result of Text.
func ReadAssignedEndpoint(text string) (AssignedEndpoint, error) {
	var e AssignedEndpoint
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return AssignedEndpoint{}, fmt.Errorf("read the endpoint %.100q of a ClusterLoadAssignment: %w", text, err)
	}
	return e, nil
}
