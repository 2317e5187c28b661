package destclient

import (
	"context"
	"io"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
)

// Get asks for the endpoints of an authority and prints them to out; it prints errors that don't
// end it to errOut.
func Get(ctx context.Context, o Options, out, errOut io.Writer) error {
	conn, err := o.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &call[pb.Update]{
		Options: o,
		command: "get",
		call:    pb.NewDestinationClient(conn).Get,
		printer: newGetPrinter(o, out, time.Now),
		err:     errOut,
		quiet:   100 * time.Millisecond,
		backoff: reconnectDelay,
	}
	return a.run(ctx)
}

// Profile does the same for the profile of an authority.
func Profile(ctx context.Context, o Options, out, errOut io.Writer) error {
	conn, err := o.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &call[pb.DestinationProfile]{
		Options: o,
		command: "profile",
		call:    pb.NewDestinationClient(conn).GetProfile,
		printer: newProfilePrinter(o, out, time.Now),
		err:     errOut,
		backoff: reconnectDelay,
	}
	return a.run(ctx)
}
