package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/dev/lab/overlay"
	"github.com/signpostd/signpost/dev/lab/schedule"
	"github.com/signpostd/signpost/dev/lab/validate"
	"github.com/signpostd/signpost/dev/lab/witness"
	"github.com/signpostd/signpost/dev/lab/workload"
	"github.com/signpostd/signpost/testkit/bindtest"
)

// Names in the cluster, in DNS and in the keys of a run.
const (
	namespace     = "lab"
	meshNamespace = "linkerd"
	zone          = "lab.example"
	owner         = "lab"
	signpostKey   = "signpost"
	personKey     = "person"
	keyAlgorithm  = "hmac-sha256"
)

// exitValidator is the validator name of findings about processes that ended by themselves.
const exitValidator = "exit"

// clockValidator is the validator name of findings about unreported clock differences.
const clockValidator = "clock"

// replicaNames are the names of the Signpost processes.
var replicaNames = []string{"replica-a", "replica-b"}

// leases are the Leases of the roles that write. The destination role leaves ExternalWorkloads to the
// controllers.
var leases = []string{"kube-system/signpost-controllers", "kube-system/signpost-dns"}

// fixture has all parts of a run.
type fixture struct {
	options  options
	dir      string
	recorder *history.Recorder

	control *controlPlane
	rest    *rest.Config
	client  kubernetes.Interface
	names   *bindtest.Server
	keys    map[string]string // secrets by the name of the key

	replicas map[string]*replica
	paths    map[string]*network.APIPath // by the name of the link
	dns      map[string]*network.DNS     // by the name of the link
	links    map[string]*network.Link    // all others, by name
	// xdsLinks are the links of xDS clients. A fault of a link in links applies to the link with the same
	// name here, too.
	xdsLinks map[string]*network.Link

	player  *workload.Player
	cluster *witness.Cluster
	zone    *witness.Zone
	streams *witness.Streams
	clients map[string]int // index by name

	mu    sync.Mutex
	exits []validate.Finding // of replicas that ended by themselves

	closers []func()
}

// close stops everything, the last part first.
func (s *fixture) close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

func (s *fixture) onClose(end func()) { s.closers = append(s.closers, end) }

// startServers starts the control plane and the name server.
func (s *fixture) startServers(ctx context.Context, records string) error {
	var err error
	if s.control, err = startControlPlane(ctx, filepath.Join(s.dir, "cluster"), s.options.localcluster); err != nil {
		return err
	}
	s.onClose(func() { s.control.Stop(stopGrace) })
	if s.rest, err = clientcmd.BuildConfigFromFlags("", s.control.kubeconfig()); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	s.rest.QPS = -1
	if s.client, err = kubernetes.NewForConfig(s.rest); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	for _, name := range []string{namespace, meshNamespace} {
		_, err := s.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return s.startNameServer(ctx, records)
}

func (s *fixture) startNameServer(ctx context.Context, records string) error {
	config := bindtest.Config{Options: witness.BINDOptions}
	s.keys = map[string]string{}
	policy := ""
	for _, name := range []string{signpostKey, personKey} {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		s.keys[name] = base64.StdEncoding.EncodeToString(secret)
		config.Keys = append(config.Keys, bindtest.Key{Name: name, Algorithm: keyAlgorithm, Secret: s.keys[name]})
		policy += fmt.Sprintf("grant %s zonesub ANY; ", name)
	}
	config.Zones = []bindtest.Zone{{Name: zone, Key: signpostKey, Policy: policy, Records: records}}
	var err error
	if s.names, err = bindtest.Start(ctx, config); err != nil {
		return err
	}
	s.onClose(func() {
		_ = os.WriteFile(filepath.Join(s.dir, "named.log"), []byte(s.names.Log()), 0o600)
		_ = s.names.Stop()
	})
	return nil
}

// createUserSlices creates empty slices of another writer for Services whose slices Signpost writes.
func (s *fixture) createUserSlices(ctx context.Context) error {
	for i := range 3 {
		service := fmt.Sprint("web-", i)
		_, err := s.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: service + "-person",
				Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: workload.ManagedBy},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create a slice of somebody else: %w", err)
		}
	}
	return nil
}

// connectReplicas creates the proxies in front of all servers that replicas use.
func (s *fixture) connectReplicas() error {
	for _, name := range replicaNames {
		if err := s.connectReplica(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *fixture) connectReplica(name string) error {
	path, err := network.NewAPIPath(s.recorder, name, s.control.kubeconfig(), s.dir)
	if err != nil {
		return err
	}
	s.onClose(path.Close)
	dns, err := network.NewDNS(s.recorder, name, s.names.Addr.String())
	if err != nil {
		return err
	}
	s.onClose(dns.Close)
	host, port, err := net.SplitHostPort(dns.Addr())
	if err != nil {
		return err
	}
	r, err := newReplica(s.dir, name, configValues{Kubeconfig: path.Kubeconfig, Host: host, Port: port, KeyName: signpostKey, Secret: s.keys[signpostKey], Owner: owner, Zone: zone})
	if err != nil {
		return err
	}
	toReplica, err := network.NewLink(r.grpc)
	if err != nil {
		return err
	}
	s.onClose(toReplica.Close)
	toXDS, err := network.NewLink(r.xds)
	if err != nil {
		return err
	}
	s.onClose(toXDS.Close)
	s.replicas[name], s.paths[name+"→kube-apiserver"], s.dns[name+"→bind"] = r, path, dns
	s.links["client→"+name], s.xdsLinks["client→"+name] = toReplica, toXDS
	s.links[name+"→kube-apiserver"], s.links[name+"→kube-apiserver, behind"] = path.Front, path.Back
	return nil
}

// startReplicas starts the Signpost processes. clock may give one of them another clock.
func (s *fixture) startReplicas(ctx context.Context, clock schedule.Clock) error {
	for _, name := range replicaNames {
		r := s.replicas[name]
		r.program, r.ended = s.options.signpost, s.replicaEnded
		if clock.Replica == name {
			r.program, r.env = s.options.skewed, []string{overlay.Clock{Offset: clock.Offset, Rate: clock.Rate}.Env()}
		}
		s.onClose(r.stop)
		if err := r.start(); err != nil {
			return err
		}
	}
	for _, name := range replicaNames {
		r := s.replicas[name]
		err := await(ctx, name+" to be ready", startTimeout, func() (bool, error) {
			return clienttest.Ready(ctx, r.admin) == nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replicaEnded adds a finding, because no replica may end by itself.
func (s *fixture) replicaEnded(name string, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exits = append(s.exits, validate.Finding{Validator: exitValidator, At: s.recorder.Now(), Subject: name, Message: fmt.Sprint(last)})
}

// unnoticedClock returns a finding if no replica has logged that the clocks differ.
func (s *fixture) unnoticedClock() []validate.Finding {
	for _, r := range s.replicas {
		if text, err := os.ReadFile(r.log()); err == nil && bytes.Contains(text, []byte("clocks of this process and of the one that leads differ")) {
			return nil
		}
	}
	return []validate.Finding{{Validator: clockValidator, At: s.recorder.Now(), Message: "no replica has said that the clocks differ"}}
}

// lab returns the possible targets of faults.
func (s *fixture) lab() schedule.Lab {
	l := schedule.Lab{Replicas: replicaNames, Leases: leases, Clients: sortedKeys(s.clients), API: sortedKeys(s.paths), DNS: sortedKeys(s.dns), Certificates: sortedKeys(s.paths), Definitions: definitions}
	l.Links = slices.Concat(sortedKeys(s.links), sortedKeys(s.dns))
	return l
}

// newFixture prepares a run in a directory of its own.
func newFixture(o options, setup history.Setup, dir string) (*fixture, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	recorder, err := history.NewRecorder(setup, filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	return &fixture{
		options: o, dir: dir, recorder: recorder,
		replicas: map[string]*replica{}, paths: map[string]*network.APIPath{}, dns: map[string]*network.DNS{}, links: map[string]*network.Link{}, xdsLinks: map[string]*network.Link{}, clients: map[string]int{},
	}, nil
}
