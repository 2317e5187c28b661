// Package etcdctl controls the etcd of a local cluster, for actions that the API server doesn't offer, such
// as a compaction. data.go copies and replaces its data.
//
// The lab, the benchmark and tests call it. URL finds the etcd of a cluster. With returns a client for all
// other requests.
//
// # Concurrency
//
// All functions may be called from any goroutine. Each opens and closes its own connection.
package etcdctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signpostd/signpost/dev/clienttest"
)

// patience is the time limit of a request.
const patience = 30 * time.Second

// URL returns the URL of the etcd of a running local cluster, whose directory has the kubeconfig. The URL
// stays the same when etcd is restarted.
func URL(dir string) (string, error) {
	pid, err := clienttest.ComponentPid(dir, "etcd")
	var command []byte
	if err == nil {
		command, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	}
	if err != nil {
		return "", fmt.Errorf("find etcd of the cluster in %s: %w", dir, err)
	}
	for argument := range bytes.SplitSeq(command, []byte{0}) {
		if url, ok := strings.CutPrefix(string(argument), "--advertise-client-urls="); ok {
			return url, nil
		}
	}
	return "", fmt.Errorf("find etcd of the cluster in %s: its command line has no --advertise-client-urls", dir)
}

// With calls f with a client of the etcd at a URL.
func With(ctx context.Context, url string, f func(context.Context, *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Context: ctx, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("connect to etcd: %w", err)
	}
	return errors.Join(f(ctx, client), client.Close())
}

// Revision returns the current revision.
func Revision(ctx context.Context, url string) (revision int64, err error) {
	err = With(ctx, url, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.Get(ctx, "/", clientv3.WithCountOnly())
		if err != nil {
			return fmt.Errorf("ask etcd for its revision: %w", err)
		}
		revision = answer.Header.Revision
		return nil
	})
	return revision, err
}

// Compact removes all revisions before this one.
func Compact(ctx context.Context, url string, revision int64) error {
	return With(ctx, url, func(ctx context.Context, client *clientv3.Client) error {
		if _, err := client.Compact(ctx, revision); err != nil {
			return fmt.Errorf("compact etcd to revision %d: %w", revision, err)
		}
		return nil
	})
}
