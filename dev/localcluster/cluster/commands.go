package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dev/localcluster/pki"
)

const (
	serviceRanges = "10.96.0.0/16,fd00:10:96::/112"

	// advertised is what the kubernetes Service's endpoint shows. Loopback is not allowed there; this
	// address is reserved for documentation and leads nowhere.
	advertised = "192.0.2.1"

	// qps lifts the clients' own rate limits out of the way.
	qps = 2000
)

// plan is everything the command lines depend on.
type plan struct {
	options Options
	ports   ports
	files   pki.Files
}

func (p plan) kubeconfig() string { return filepath.Join(p.options.Dir, "kubeconfig") }

// adminKubeconfig is for the components: it exists before the cluster is ready.
func (p plan) adminKubeconfig() string {
	return filepath.Join(p.options.Dir, "pki", "admin.kubeconfig")
}

func (p plan) auditPolicy() string { return filepath.Join(p.options.Dir, "audit-policy.yaml") }

func (p plan) schedulerConfig() string { return filepath.Join(p.options.Dir, "kube-scheduler.yaml") }

// args returns the arguments of a component.
func (p plan) args(component string) []string {
	switch component {
	case Etcd:
		return p.etcdArgs()
	case APIServer:
		return p.apiServerArgs()
	case ControllerManager:
		return p.controllerManagerArgs()
	default:
		return []string{
			"--config=" + p.schedulerConfig(),
			"--authentication-kubeconfig=" + p.adminKubeconfig(),
			"--authorization-kubeconfig=" + p.adminKubeconfig(),
			"--bind-address=" + loopback,
			"--secure-port=" + strconv.Itoa(p.ports.scheduler),
		}
	}
}

func (p plan) etcdArgs() []string {
	client, peer := url("http", p.ports.etcd), url("http", p.ports.etcdPeer)
	return []string{
		"--name=localcluster",
		"--data-dir=" + filepath.Join(p.options.Dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=localcluster=" + peer,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
}

func (p plan) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + url("http", p.ports.etcd),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.ports.apiServer),
		"--advertise-address=" + advertised,
		"--service-cluster-ip-range=" + serviceRanges,
		"--tls-cert-file=" + p.files.Server.CertFile,
		"--tls-private-key-file=" + p.files.Server.KeyFile,
		"--client-ca-file=" + p.files.CA.CertFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.files.ServiceAccount.CertFile,
		"--service-account-signing-key-file=" + p.files.ServiceAccount.KeyFile,
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=" + strings.Join(p.unwantedAdmission(), ","),
		"--allow-privileged=true",
		"--max-requests-inflight=4000",
		"--max-mutating-requests-inflight=2000",
		// Nobody is a front proxy here. Without these, the other components complain in their logs every
		// ten seconds.
		"--requestheader-client-ca-file=" + p.files.CA.CertFile,
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
	if p.options.AuditLog != "" {
		args = append(args, "--audit-log-path="+p.options.AuditLog, "--audit-policy-file="+p.auditPolicy())
	}
	return args
}

// unwantedAdmission lists the admission plug-ins that would wait for a component that does not run.
func (p plan) unwantedAdmission() []string {
	unwanted := []string{"TaintNodesByCondition"} // a simulated node is ready from its first moment
	if !p.options.has(ControllerManager) {
		unwanted = append(unwanted, "ServiceAccount") // nobody makes the default service account that pods need
	}
	return unwanted
}

func (p plan) controllerManagerArgs() []string {
	controllers := []string{"*"}
	if p.options.EndpointControllers == EndpointsBySignpost {
		controllers = append(controllers, "-endpoints-controller", "-endpointslice-controller", "-endpointslice-mirroring-controller")
	}
	if !p.options.PodGC {
		controllers = append(controllers, "-pod-garbage-collector-controller")
	}
	return []string{
		"--kubeconfig=" + p.adminKubeconfig(),
		"--authentication-kubeconfig=" + p.adminKubeconfig(),
		"--authorization-kubeconfig=" + p.adminKubeconfig(),
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(p.ports.controllerManager),
		"--leader-elect=false",
		"--controllers=" + strings.Join(controllers, ","),
		"--root-ca-file=" + p.files.CA.CertFile,
		"--service-account-private-key-file=" + p.files.ServiceAccount.KeyFile,
		"--cluster-signing-cert-file=" + p.files.CA.CertFile,
		"--cluster-signing-key-file=" + p.files.CA.KeyFile,
		"--kube-api-qps=" + strconv.Itoa(qps),
		"--kube-api-burst=" + strconv.Itoa(2*qps),
		// An outage of the API server stops the heartbeats of all nodes; it must not make them NotReady.
		"--node-monitor-grace-period=10m",
	}
}

// schedulerYAML is the scheduler's configuration file; its flags for rate limits are deprecated.
func (p plan) schedulerYAML() []byte {
	return fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %q
  qps: %d
  burst: %d
leaderElection:
  leaderElect: false
`, p.adminKubeconfig(), qps, 2*qps)
}

// auditPolicyYAML says what the audit log tells: who asked for what and what the answer was, once
// for each request, a watch when it begins and when it ends.
const auditPolicyYAML = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
`
