package simulation

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// Cluster is a simulated API server, as a process of its own.
type Cluster struct {
	*measure.Process
	Size
	Dir, Kubeconfig, url string
	client               *http.Client
}

// Start starts a simulated API server; the arguments are further ones of its command.
func Start(ctx context.Context, s Size, args ...string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "signpost-bench-")
	if err != nil {
		return nil, err
	}
	args = append([]string{"apiserver", "--dir", dir, "--services", fmt.Sprint(s.Services), "--pods", fmt.Sprint(s.Pods)}, args...)
	p, err := measure.StartSelf(ctx, dir, 0, args...)
	if err != nil {
		return nil, err
	}
	k := &Cluster{Process: p, Size: s, Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if err := k.connect(ctx); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

func (k *Cluster) connect(ctx context.Context) error {
	err := measure.Poll(ctx, 20*time.Second, func() bool {
		_, err := os.Stat(k.Kubeconfig)
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("start the simulated API server: %w: see %s", err, k.Log)
	}
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	k.url, k.client = config.Host, simulatedClient(trust)
	return nil
}

func simulatedClient(trust *tls.Config) *http.Client {
	return &http.Client{Transport: &http2.Transport{TLSClientConfig: trust}}
}

// Stop ends the API server and deletes its directory.
func (k *Cluster) Stop() {
	k.Process.Stop()
	_ = os.RemoveAll(k.Dir)
}

// Change makes changes. When it returns, their events are on their way.
func (k *Cluster) Change(ctx context.Context, c Changes) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+"/bench/changes", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := k.client.Do(req)
	if err != nil {
		return fmt.Errorf("change the simulated cluster: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("change the simulated cluster: %s: %s", res.Status, text)
	}
	return err
}

// collections are what a destination server reads of a simulated cluster, as it reads them.
var collections = map[string]string{
	"/api/v1/pods": "application/vnd.kubernetes.protobuf",
	"/apis/discovery.k8s.io/v1/endpointslices": "application/vnd.kubernetes.protobuf",
	"/api/v1/services":                         "application/vnd.kubernetes.protobuf",
	"/api/v1/nodes":                            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"/apis/apps/v1/replicasets":                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
}

// ReadAll streams all objects and throws them away: it takes as long as the server takes for
// making and sending them. It returns the number of bytes.
func (k *Cluster) ReadAll(ctx context.Context) (int64, error) {
	g, ctx := errgroup.WithContext(ctx)
	var sum atomic.Int64
	for path, accept := range collections {
		g.Go(func() error {
			n, err := k.readInitial(ctx, path, accept)
			sum.Add(n)
			return err
		})
	}
	err := g.Wait()
	return sum.Load(), err
}

// readInitial reads a watch until the bookmark after the objects that exist.
func (k *Cluster) readInitial(ctx context.Context, path, accept string) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+path+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", accept)
	res, err := k.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	frame := make([]byte, 1<<20)
	for total := int64(0); ; {
		if _, err := io.ReadFull(res.Body, frame[:4]); err != nil {
			return total, fmt.Errorf("read %s: %w", path, err)
		}
		n := binary.BigEndian.Uint32(frame)
		if int(n) > len(frame) {
			return total, fmt.Errorf("read %s: a frame of %d bytes", path, n)
		}
		if _, err := io.ReadFull(res.Body, frame[:n]); err != nil {
			return total, fmt.Errorf("read %s: %w", path, err)
		}
		total += int64(n) + 4
		if n < 1000 && bytes.Contains(frame[:n], []byte(metav1.InitialEventsAnnotationKey)) {
			return total, nil
		}
	}
}
