//go:build !linux

package ownsocket

import (
	"context"
	"errors"
	"net"
)

// Listen returns [errors.ErrUnsupported].
func Listen(context.Context, int) (net.Listener, error) { return nil, errors.ErrUnsupported }

// Dial returns [errors.ErrUnsupported].
func Dial(context.Context, int) (net.Conn, error) { return nil, errors.ErrUnsupported }
