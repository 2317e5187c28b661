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

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/dev/lab/overlay"
	"github.com/signpostd/signpost/dev/lab/schedule"
	"github.com/signpostd/signpost/dev/lab/validate"
	"github.com/signpostd/signpost/dev/lab/witness"
	"github.com/signpostd/signpost/dev/lab/workload"
	"github.com/signpostd/signpost/testkit/bindtest"
)

// What a run is about.
const (
	namespace     = "lab"
	meshNamespace = "linkerd"
	zone          = "lab.example"
	owner         = "lab"
	ourKey        = "signpost"
	personsKey    = "person"
	keyAlgorithm  = "hmac-sha256"
)

// exitValidator is the name of findings about processes that end by themselves.
const exitValidator = "exit"

// clockValidator is the name of findings about clocks that nobody noticed.
const clockValidator = "clock"

// replicaNames are the processes of Signpost.
var replicaNames = []string{"replica-a", "replica-b"}

// leases are those of the roles that write. The role destination leaves ExternalWorkloads to the controllers.
var leases = []string{"kube-system/signpost-controllers", "kube-system/signpost-dns"}

// stage is everything that a run consists of, while it runs.
type stage struct {
	options  options
	dir      string
	recorder *history.Recorder

	control *controlPlane
	rest    *rest.Config
	client  kubernetes.Interface
	names   *bindtest.Server
	keys    map[string]string // their secrets

	replicas map[string]*replica
	paths    map[string]*network.APIPath // by the name of the link
	dns      map[string]*network.DNS     // by the name of the link
	links    map[string]*network.Link    // all others, by name
	// xdsLinks are those of clients of xDS. A fault of the link of the same name in links is one of these,
	// too.
	xdsLinks map[string]*network.Link

	player  *workload.Player
	cluster *witness.Cluster
	zone    *witness.Zone
	streams *witness.Streams
	clients map[string]int // their numbers, by name

	mu    sync.Mutex
	exits []validate.Finding // of replicas that ended by themselves

	closers []func()
}

// close ends everything, the last thing first.
func (s *stage) close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

func (s *stage) later(end func()) { s.closers = append(s.closers, end) }

// startServers starts the control plane and the name server.
func (s *stage) startServers(ctx context.Context, records string) error {
	var err error
	if s.control, err = startControlPlane(ctx, filepath.Join(s.dir, "cluster"), s.options.localcluster); err != nil {
		return err
	}
	s.later(func() { s.control.Stop(stopGrace) })
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

func (s *stage) startNameServer(ctx context.Context, records string) error {
	config := bindtest.Config{Options: witness.BINDOptions}
	s.keys = map[string]string{}
	policy := ""
	for _, name := range []string{ourKey, personsKey} {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		s.keys[name] = base64.StdEncoding.EncodeToString(secret)
		config.Keys = append(config.Keys, bindtest.Key{Name: name, Algorithm: keyAlgorithm, Secret: s.keys[name]})
		policy += fmt.Sprintf("grant %s zonesub ANY; ", name)
	}
	config.Zones = []bindtest.Zone{{Name: zone, Key: ourKey, Policy: policy, Records: records}}
	var err error
	if s.names, err = bindtest.Start(ctx, config); err != nil {
		return err
	}
	s.later(func() {
		_ = os.WriteFile(filepath.Join(s.dir, "named.log"), []byte(s.names.Log()), 0o600)
		_ = s.names.Stop()
	})
	return nil
}

// createForeignSlices makes empty slices of somebody else for Services whose slices Signpost writes.
func (s *stage) createForeignSlices(ctx context.Context) error {
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

// connectReplicas makes the proxies before everything that replicas speak to.
func (s *stage) connectReplicas() error {
	for _, name := range replicaNames {
		if err := s.connectReplica(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) connectReplica(name string) error {
	path, err := network.NewAPIPath(s.recorder, name, s.control.kubeconfig(), s.dir)
	if err != nil {
		return err
	}
	s.later(path.Close)
	dns, err := network.NewDNS(s.recorder, name, s.names.Addr.String())
	if err != nil {
		return err
	}
	s.later(dns.Close)
	host, port, err := net.SplitHostPort(dns.Addr())
	if err != nil {
		return err
	}
	r, err := newReplica(s.dir, name, places{Kubeconfig: path.Kubeconfig, Host: host, Port: port, KeyName: ourKey, Secret: s.keys[ourKey], Owner: owner, Zone: zone})
	if err != nil {
		return err
	}
	toReplica, err := network.NewLink(r.grpc)
	if err != nil {
		return err
	}
	s.later(toReplica.Close)
	toXDS, err := network.NewLink(r.xds)
	if err != nil {
		return err
	}
	s.later(toXDS.Close)
	s.replicas[name], s.paths[name+"→kube-apiserver"], s.dns[name+"→bind"] = r, path, dns
	s.links["client→"+name], s.xdsLinks["client→"+name] = toReplica, toXDS
	s.links[name+"→kube-apiserver"], s.links[name+"→kube-apiserver, behind"] = path.Front, path.Back
	return nil
}

// startReplicas starts the processes of Signpost, one of them perhaps with a clock of its own.
func (s *stage) startReplicas(ctx context.Context, clock schedule.Clock) error {
	for _, name := range replicaNames {
		r := s.replicas[name]
		r.program, r.ended = s.options.signpost, s.replicaEnded
		if clock.Replica == name {
			r.program, r.env = s.options.skewed, []string{overlay.Clock{Offset: clock.Offset, Rate: clock.Rate}.Env()}
		}
		s.later(r.stop)
		if err := r.start(); err != nil {
			return err
		}
	}
	for _, name := range replicaNames {
		r := s.replicas[name]
		err := await(ctx, name+" to be ready", startPatience, func() (bool, error) {
			return r.ready(), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// replicaEnded notes that a replica ended by itself. Nobody's rule allows that.
func (s *stage) replicaEnded(name string, last error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exits = append(s.exits, validate.Finding{Validator: exitValidator, At: s.recorder.Now(), Subject: name, Message: fmt.Sprint(last)})
}

// unnoticedClock returns a finding if no replica has said that clocks differ.
func (s *stage) unnoticedClock() []validate.Finding {
	for _, r := range s.replicas {
		if text, err := os.ReadFile(r.log()); err == nil && bytes.Contains(text, []byte("clocks of this process and of the one that leads differ")) {
			return nil
		}
	}
	return []validate.Finding{{Validator: clockValidator, At: s.recorder.Now(), Message: "no replica has said that the clocks differ"}}
}

// lab says what there is to break.
func (s *stage) lab() schedule.Lab {
	l := schedule.Lab{Replicas: replicaNames, Leases: leases, Clients: sortedKeys(s.clients), API: sortedKeys(s.paths), DNS: sortedKeys(s.dns), Certificates: sortedKeys(s.paths), Definitions: definitions}
	l.Links = slices.Concat(sortedKeys(s.links), sortedKeys(s.dns))
	return l
}

// newStage prepares a run in a directory of its own.
func newStage(o options, setup history.Setup, dir string) (*stage, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	recorder, err := history.NewRecorder(setup, filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	return &stage{
		options: o, dir: dir, recorder: recorder,
		replicas: map[string]*replica{}, paths: map[string]*network.APIPath{}, dns: map[string]*network.DNS{}, links: map[string]*network.Link{}, xdsLinks: map[string]*network.Link{}, clients: map[string]int{},
	}, nil
}
