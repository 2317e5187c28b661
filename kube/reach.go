package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// ReachTimeout is how long [Reach] waits for an API server.
const ReachTimeout = 10 * time.Second

// Reach asks the API server of a configuration for its version, so that a command can tell within
// [ReachTimeout] what is unreachable. The version is "" if the user may not read it. The error is one
// sentence for users, with the address of the server.
func Reach(ctx context.Context, cfg *rest.Config) (gitVersion string, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return "", fmt.Errorf("make a client of the API server %s: %w", cfg.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	text, err := client.RESTClient().Get().AbsPath("/version").MaxRetries(0).Do(ctx).Raw()
	var info version.Info
	switch {
	case apierrors.IsForbidden(err):
		return "", nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("the API server %s doesn't accept the credentials: %w", cfg.Host, err)
	case apierrors.IsNotFound(err), err == nil && (json.Unmarshal(text, &info) != nil || info.GitVersion == ""):
		return "", fmt.Errorf("the server at %s is not an API server", cfg.Host)
	case errors.As(err, new(apierrors.APIStatus)):
		return "", fmt.Errorf("the API server %s can't serve requests: %w", cfg.Host, err)
	case err != nil:
		return "", ExplainRequest(err)
	}
	return info.GitVersion, nil
}

// ExplainRequest returns an error of a request to an API server in words for users: with the server
// instead of the URL if the server can't be reached. An error of an untrusted server is returned as it
// is, because the errors that it wraps may quote the server.
func ExplainRequest(err error) error {
	var failed *url.Error
	if errors.As(err, new(*concealed)) || !errors.As(err, &failed) {
		return err
	}
	server, cause := failed.URL, failed.Err
	if u, wrong := url.Parse(failed.URL); wrong == nil {
		server = u.Scheme + "://" + u.Host
	}
	if connection, ok := cause.(*net.OpError); ok && connection.Source != nil {
		// Without the port of the client, which differs with each connection, equal causes are equal texts.
		known := *connection
		known.Source = nil
		cause = &known
	}
	if failed.Timeout() {
		cause = errors.New("no answer in time")
	}
	return fmt.Errorf("the API server %s can't be reached: %w", server, cause)
}
