package main

import (
	"errors"
	"net/http"
	"testing"
)

func TestWarningsAreDropped(t *testing.T) {
	answer := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{
		"Warning": {`299 - "v1 Endpoints is deprecated"`}, "Content-Type": {"application/json"},
	}}
	got, err := unwarned{roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil })}.RoundTrip(&http.Request{})
	if err != nil || got != answer || got.Header.Get("Warning") != "" || got.Header.Get("Content-Type") == "" {
		t.Errorf("answer %+v, error %v, want the same without the warning", got, err)
	}
	refused := errors.New("refused")
	if _, err := (unwarned{roundTripper(func(*http.Request) (*http.Response, error) { return nil, refused })}).RoundTrip(&http.Request{}); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}
