package mirroring

import "fmt"

// Problem is a part of Endpoints that isn't mirrored. It becomes an Event on the Endpoints. The other parts
// are mirrored.
type Problem struct {
	// Reason is one of the constants below. Message is one sentence without a full stop.
	Reason, Message string
}

// The reasons of problems.
const (
	// InvalidIPAddress is about addresses that are no IPs.
	InvalidIPAddress = "InvalidIPAddress"
	// TooManyAddressesToMirror is about addresses beyond the maximum of a subset, or of all slices.
	TooManyAddressesToMirror = "TooManyAddressesToMirror"
	// FailedToUpdateEndpointSlices is about slices that the API server refuses.
	FailedToUpdateEndpointSlices = "FailedToUpdateEndpointSlices"
)

func (d *desired) problems() []Problem {
	var list []Problem
	if d.invalid > 0 {
		list = append(list, Problem{InvalidIPAddress, fmt.Sprintf(
			"%d of the addresses can't be mirrored to EndpointSlices because they are no IPs, the first one is %q", d.invalid, d.firstInvalid,
		)})
	}
	if d.overLimit > 0 {
		list = append(list, Problem{TooManyAddressesToMirror, fmt.Sprintf(
			"%d of the addresses aren't mirrored to EndpointSlices because a subset has more than %d; write EndpointSlices instead of Endpoints",
			d.overLimit, d.max,
		)})
	}
	if d.overTotal > 0 {
		list = append(list, Problem{TooManyAddressesToMirror, fmt.Sprintf(
			"%d of the addresses aren't mirrored to EndpointSlices because there are more than %d, counted once for each port of their subset; write EndpointSlices instead of Endpoints",
			d.overTotal, maxEndpoints,
		)})
	}
	if d.overSlices > 0 {
		list = append(list, Problem{TooManyAddressesToMirror, fmt.Sprintf(
			"%d of the addresses aren't mirrored because their ports need more than %d EndpointSlices, which all have the labels and annotations of the Endpoints; write EndpointSlices instead of Endpoints",
			d.overSlices, d.maxSlices,
		)})
	}
	return list
}
