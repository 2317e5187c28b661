// Package etcdtest runs a real etcd on free loopback ports, for the tests of package coredns and for the
// benchmark. It is the etcd in the program of the local cluster (bin/localcluster).
//
// A [Server] is ready when [Start] returns. It shares nothing with the etcd of a local cluster. Nothing is
// left after Stop, and the server ends with the process that started it.
//
// # Concurrency
//
// Stop is called once; nothing else can be called.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const (
	startWithin = time.Minute
	stopWithin  = 10 * time.Second
)

// Server is a running etcd without users.
type Server struct {
	// URL is the client URL.
	URL string

	process *childprocess.Process
	dir     string
}

// Start starts an empty server and waits until it responds. The server runs until Stop is called, even after
// the end of ctx.
func Start(ctx context.Context) (*Server, error) {
	s, err := start()
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	if err := s.ready(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	return s, nil
}

func start() (*Server, error) {
	binary, err := kubetest.Localcluster()
	if err != nil {
		return nil, err
	}
	clients, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	peers, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "etcdtest-")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + clients, dir: dir}
	peer := "http://" + peers
	cmd := exec.Command(binary, "etcd", "--data-dir="+dir, "--listen-client-urls="+s.URL, "--advertise-client-urls="+s.URL,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--log-level=fatal", "--unsafe-no-fsync")
	cmd.Stderr = os.Stderr
	if s.process, err = childprocess.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.URL}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		try, end := context.WithTimeout(ctx, time.Second)
		_, err := client.Get(try, "/")
		end()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	s.process.Stop(stopWithin)
	_ = os.RemoveAll(s.dir)
}
