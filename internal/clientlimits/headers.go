package clientlimits

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// maxHeaders is how many headers a call may have. Proxies and gRPC clients send about ten. grpc-go
// keeps a map with room for all of them as long as the call is open.
const maxHeaders = 64

// KeepHeaders returns an option that drops the headers of a call, except those of these names, and
// refuses calls with too many. Otherwise each open call would cost as much as its headers, many
// times what the call itself costs. It calls refused for each refusal.
func KeepHeaders(refused func(Refusal, ClientID), names ...string) grpc.ServerOption {
	return grpc.InTapHandle(func(ctx context.Context, call *tap.Info) (context.Context, error) {
		if n := count(call.Header); n > maxHeaders {
			refused(RefusedHeaders, ClientIDFrom(ctx))
			return nil, status.Errorf(codes.ResourceExhausted, "the call has %d headers, and may have %d", n, maxHeaders)
		}
		for name := range call.Header {
			if !slices.Contains(names, name) {
				delete(call.Header, name)
			}
		}
		return ctx, nil
	})
}

func count(headers metadata.MD) (n int) {
	for _, values := range headers {
		n += len(values)
	}
	return n
}
