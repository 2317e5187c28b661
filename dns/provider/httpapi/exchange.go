package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// drainSize limits how much of a response is discarded so that its connection can be reused.
const drainSize = 1 << 20

// NewRequest returns a request to a URL. message is its body, as JSON with a media type; nil means none.
func NewRequest(ctx context.Context, method string, target *url.URL, message any, mediaType string) (*http.Request, error) {
	var body []byte
	if message != nil {
		var err error
		if body, err = json.Marshal(message); err != nil {
			return nil, fmt.Errorf("encode for %s: %w", target.Redacted(), err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", target.Redacted(), err)
	}
	if message != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	return req, nil
}

// Do sends a request and calls read with the response. It drains and closes the body afterwards.
// Errors of read are returned with the method and the URL. Without a response the error wraps a
// [url.Error].
func Do(client *http.Client, req *http.Request, read func(*http.Response) error) error {
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, resp.Body, drainSize)
		_ = resp.Body.Close()
	}()
	if err := read(resp); err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.URL.Redacted(), err)
	}
	return nil
}

// Decode decodes a response that is a single JSON value.
func Decode(body io.Reader, into any) error {
	decoder := json.NewDecoder(body)
	if err := decoder.Decode(into); err != nil {
		return err
	}
	// Data after the value means that the response is malformed.
	switch _, err := decoder.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("read what follows the value: %w", err)
	default:
		return errors.New("something follows the value")
	}
}
