package leader

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		want   string // of the error; empty for none
	}{
		"defaults":                {change: func(*Config) {}},
		"no client":               {change: func(c *Config) { c.Client = nil }, want: "no client"},
		"no namespace":            {change: func(c *Config) { c.Namespace = "" }, want: `the lease "/a" has no namespace`},
		"negative":                {change: func(c *Config) { c.RetryPeriod = -1 }, want: "retry period -1ns: none may be negative"},
		"parts of a second":       {change: func(c *Config) { c.LeaseDuration = 20*time.Second + 1 }, want: "whole seconds"},
		"short lease":             {change: func(c *Config) { c.LeaseDuration = 10 * time.Second }, want: "lease duration 10s: must be longer than the renew deadline (10s), by 1s or more"},
		"no time for two renewal": {change: func(c *Config) { c.RetryPeriod = 9 * time.Second }, want: "renew deadline 10s: must be longer than 1.2 times the retry period (9s)"},
		"just so":                 {change: func(c *Config) { c.LeaseDuration = 11 * time.Second }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Client: struct {
				coordinationclient.LeasesGetter
			}{}, Namespace: "ns", Name: "a"}
			tt.change(&c)
			err := c.Validate()
			if tt.want == "" && err != nil {
				t.Error(err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if _, newErr := New(c); (newErr == nil) != (err == nil) {
				t.Errorf("New: %v, Validate: %v", newErr, err)
			}
		})
	}
}

func TestNewNamesTheProcess(t *testing.T) {
	c := Config{Client: struct {
		coordinationclient.LeasesGetter
	}{}, Namespace: "ns", Name: "a", Registerer: prometheus.NewRegistry()}
	a, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = New(c); err == nil || !strings.Contains(err.Error(), "one elector per lease") {
		t.Errorf("the same metrics again: %v", err)
	}
	c.Registerer = nil
	b, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if a.Identity() == "" || a.Identity() == b.Identity() {
		t.Errorf("identities %q and %q are not unique", a.Identity(), b.Identity())
	}
}
