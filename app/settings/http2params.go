package settings

import (
	"bytes"
	"encoding/json"
	"fmt"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
)

func (o *Destination) checkHTTP2Params() []problem {
	const flag = "meshed-http2-client-params"
	if _, err := ParseHTTP2Params(o.MeshedHTTP2ClientParams); err != nil {
		return []problem{{flags: []string{flag}, reason: err.Error()}}
	}
	if o.MeshedHTTP2ClientParams == "" {
		return nil
	}
	strict := json.NewDecoder(bytes.NewReader([]byte(o.MeshedHTTP2ClientParams)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(pb.Http2ClientParams)); err != nil {
		return []problem{{
			severity: refusedInFile, flags: []string{flag},
			reason:  fmt.Sprintf("must have the field names of Http2ClientParams, with underscores, such as keep_alive: %v", err),
			instead: "that field is ignored",
		}}
	}
	return nil
}

// ParseHTTP2Params parses --meshed-http2-client-params: the JSON of the generated Go struct, not
// that of protobuf. An empty text gives nil.
func ParseHTTP2Params(text string) (*pb.Http2ClientParams, error) {
	if text == "" {
		return nil, nil
	}
	params := new(pb.Http2ClientParams)
	if err := json.Unmarshal([]byte(text), params); err != nil {
		return nil, fmt.Errorf(`must be JSON such as {"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3}}}: %w`, err)
	}
	return params, nil
}
