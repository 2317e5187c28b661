package empty

import (
	"context"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: "empty", Summary: "No records at all, so that all owned records are removed", Category: "testing",
		New: source.Fixed(open),
	}
}

func open(source.Input) source.Source {
	return source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) { return []*dns.RecordSet{}, nil }}
}
