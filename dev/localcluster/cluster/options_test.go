package cluster

import (
	"cmp"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		change func(*Options)
		want   string // in the error; empty means valid
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Components = []string{APIServer, Etcd} }, ""},
		{func(o *Options) { o.EndpointControllers = EndpointsByKubernetes }, ""},
		{func(o *Options) { o.Nodes, o.RestartDelay, o.PodReadyDelay = 0, 0, 0 }, ""},
		{func(o *Options) { o.Dir = "" }, "--dir is missing"},
		{func(o *Options) { o.Port = 65536 }, "--port 65536 is not a port number"},
		{func(o *Options) { o.Port = -1 }, "--port -1"},
		{func(o *Options) { o.Port = listener.Addr().(*net.TCPAddr).Port }, "address already in use"},
		{func(o *Options) { o.Components = []string{"kubelet"} }, `--components: "kubelet" is not one of etcd, kube-apiserver`},
		{func(o *Options) { o.Components = []string{Etcd} }, "nothing works without kube-apiserver"},
		{func(o *Options) { o.EndpointControllers = "both" }, `--endpoint-controllers "both"`},
		{func(o *Options) { o.CRDs = file }, "is not a directory"},
		{func(o *Options) { o.CRDs = file + "-missing" }, "--crds: "},
		{func(o *Options) { o.Nodes = 1025 }, "--nodes 1025 is not between 0 and 1024"},
		{func(o *Options) { o.RestartDelay = -time.Second }, "--restart-delay -1s is negative"},
		{func(o *Options) { o.PodReadyDelay = -time.Second }, "--pod-ready-delay -1s is negative"},
		{func(o *Options) { o.StartTimeout = 0 }, "--start-timeout 0s is not positive"},
	} {
		options := Default()
		options.Dir = "somewhere"
		tc.change(&options)
		err := options.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("Validate = %v, want %q", err, tc.want)
		}
	}
}

func TestEndpointControllers(t *testing.T) {
	for name, want := range map[string]string{
		"":                    "--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller",
		EndpointsBySignpost:   "--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller",
		EndpointsByKubernetes: "--controllers=*",
	} {
		options := Default()
		options.EndpointControllers = cmp.Or(name, options.EndpointControllers)
		if args := (plan{options: options}).args(ControllerManager); !slices.Contains(args, want) {
			t.Errorf("%q: arguments %q, want %s", name, args, want)
		}
	}
	options := Default()
	options.EndpointControllers, options.PodGC = EndpointsByKubernetes, false
	if args := (plan{options: options}).args(ControllerManager); !slices.Contains(args, "--controllers=*,-pod-garbage-collector-controller") {
		t.Errorf("without the garbage collection of pods, the arguments are %q", args)
	}
}

func TestAuditLog(t *testing.T) {
	options := Default()
	options.Dir = "dir"
	isAbout := func(arg string) bool { return strings.HasPrefix(arg, "--audit-") }
	if args := (plan{options: options}).args(APIServer); slices.ContainsFunc(args, isAbout) {
		t.Errorf("without --audit-log the arguments are %q", args)
	}
	options.AuditLog = "requests.log"
	args := (plan{options: options}).args(APIServer)
	for _, want := range []string{"--audit-log-path=requests.log", "--audit-policy-file=dir/audit-policy.yaml"} {
		if !slices.Contains(args, want) {
			t.Errorf("with --audit-log the arguments are %q, want %s", args, want)
		}
	}
}

func TestPortsAreDistinctAndHeld(t *testing.T) {
	one, two := &reservation{}, &reservation{}
	defer one.release()
	defer two.release()
	seen := map[int]bool{}
	for _, r := range []*reservation{one, two} {
		for range 50 {
			port, err := r.port()
			if err != nil {
				t.Fatal(err)
			}
			if seen[port] {
				t.Fatalf("port %d twice", port)
			}
			seen[port] = true
		}
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	dir := t.TempDir()
	unlock, err := prepare(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(dir); err == nil || !strings.Contains(err.Error(), "another cluster runs there") {
		t.Errorf("second lock: %v", err)
	}
	unlock()
	unlock, err = prepare(dir)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
