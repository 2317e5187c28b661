package coredns

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signpostd/signpost/dns/providertest"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/internal/kubetest"
)

// etcdURL is where the etcd of these tests is.
var etcdURL string

func TestMain(m *testing.M) { providertest.Main(m, "etcd", startEtcd) }

// startEtcd starts the etcd that is in the local cluster's program, with a user.
func startEtcd() (stop func(), err error) {
	binary, err := kubetest.Localcluster()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "coredns-test-")
	if err != nil {
		return nil, err
	}
	clientAddress, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	peerAddress, err := childprocess.Address()
	if err != nil {
		return nil, err
	}
	client, peer := "http://"+clientAddress, "http://"+peerAddress
	cmd := exec.Command(binary, "etcd", "--data-dir="+dir, "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--log-level=error", "--unsafe-no-fsync")
	cmd.Stderr = os.Stderr
	process, err := childprocess.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return nil, err
	}
	stop = func() {
		process.Stop(10 * time.Second)
		_ = os.RemoveAll(dir)
	}
	etcdURL = client
	if err := reachable(client); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func reachable(url string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, time.Second)
		_, err := client.Get(try, "/")
		end()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
