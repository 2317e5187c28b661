package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// refusal is the error of a request with another status than 200.
type refusal struct {
	code int
	Failure
}

func (r *refusal) Error() string { return r.Failure.Error }

// refused returns the error of a request with a status.
func refused(code int, err error) error { return &refusal{code, Failure{Error: err.Error()}} }

func badRequest(format string, args ...any) error {
	return refused(http.StatusBadRequest, fmt.Errorf(format, args...))
}

// refuse responds to a failed request.
func refuse(w http.ResponseWriter, err error) {
	var known *refusal
	var elsewhere *NotLeading
	switch {
	case errors.As(err, &known):
		reply(w, known.code, known.Failure)
	case errors.As(err, &elsewhere):
		reply(w, http.StatusConflict, Failure{Error: elsewhere.Error(), Leader: elsewhere.Leader})
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		reply(w, http.StatusServiceUnavailable, Failure{Error: "no answer in time: try again"})
	default:
		reply(w, http.StatusServiceUnavailable, Failure{Error: err.Error()})
	}
}
