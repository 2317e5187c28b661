package simulation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// examplePod returns a meshed pod of 8 KiB in protobuf, as an API server has it: most of it are
// managed fields, variables, volumes and statuses.
func examplePod() *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: exampleMeta("kube-controller-manager", podFields()...),
		Spec: corev1.PodSpec{
			ServiceAccountName: "default", DeprecatedServiceAccount: "default", RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst,
			TerminationGracePeriodSeconds: new(int64(30)), SchedulerName: "default-scheduler", Priority: new(int32(0)), EnableServiceLinks: new(true),
			InitContainers: []corev1.Container{exampleInit()}, Containers: []corev1.Container{exampleProxy(), exampleApp()},
			Volumes: exampleVolumes(),
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable, StartTime: &exampleTime,
			PodIPs: []corev1.PodIP{{}}, HostIPs: []corev1.HostIP{{}},
		},
	}
	p.ManagedFields = append(p.ManagedFields, exampleMeta("kubelet", kubeletFields()...).ManagedFields...)
	p.ManagedFields[1].Subresource = "status"
	for key, value := range map[string]string{"pod-template-hash": "57b57f89", "linkerd.io/control-plane-ns": "linkerd", "linkerd.io/workload-ns": "team", "version": "v1"} {
		p.Labels[key] = value
	}
	for key, value := range map[string]string{
		"linkerd.io/created-by": "linkerd/proxy-injector stable-2.14.1", "linkerd.io/inject": "enabled", "linkerd.io/proxy-version": "stable-2.14.1",
		"linkerd.io/trust-root-sha256": "3b2f1c5ad1a0a5e0b3a4c36ac2d1b3d5d1b9f6c4b0f1a7c5e3d2b1a09f8e7d6c", "viz.linkerd.io/tap-enabled": "true",
		"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "prometheus.io/path": "/metrics",
		"kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z", "checksum/config": "8d2f1c5ad1a0a5e0b3a4c36ac2d1b3d5d1b9f6c4b0f1a7c5e3d2b1a09f8e7d6c",
	} {
		p.Annotations[key] = value
	}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Controller: new(true), BlockOwnerDeletion: new(true)}}
	for _, c := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: exampleTime})
	}
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{exampleStatus("linkerd-init")}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{exampleStatus("linkerd-proxy"), exampleStatus("app")}
	return p
}

// podFields returns the paths that managed fields would have of the spec of a pod.
func podFields() []string {
	fields := []string{"f:metadata", "f:generateName", "f:labels", "f:annotations", "f:ownerReferences", "f:spec", "f:containers", "f:volumes"}
	for _, container := range []string{"app", "linkerd-proxy", "linkerd-init"} {
		for _, field := range []string{"image", "imagePullPolicy", "livenessProbe", "ports", "readinessProbe", "resources", "securityContext", "terminationMessagePath", "volumeMounts"} {
			fields = append(fields, fmt.Sprintf("k:{\"name\":%q} f:%s", container, field))
		}
	}
	return fields
}

func kubeletFields() []string {
	fields := []string{"f:status", "f:containerStatuses", "f:hostIP", "f:hostIPs", "f:initContainerStatuses", "f:phase", "f:podIP", "f:podIPs", "f:startTime"}
	for _, c := range []string{"ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"} {
		fields = append(fields, fmt.Sprintf("k:{\"type\":%q} f:lastProbeTime f:lastTransitionTime f:status f:type", c))
	}
	return fields
}

const exampleImage = "registry.example.org/platform/image:v1.2.3"

func exampleApp() corev1.Container {
	c := corev1.Container{
		Name: "app", Image: exampleImage, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"serve", "--listen=:8080", "--metrics=:9090"},
		Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
		Resources: exampleResources(), LivenessProbe: exampleProbe("/healthz", 8080), ReadinessProbe: exampleProbe("/ready", 8080),
		VolumeMounts: exampleMounts(), TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}
	for i := range 15 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("APP_SETTING_%d", i), Value: "a-value-of-usual-length"})
	}
	return c
}

func exampleProxy() corev1.Container {
	c := corev1.Container{
		Name: "linkerd-proxy", Image: exampleImage, ImagePullPolicy: corev1.PullIfNotPresent, Resources: exampleResources(),
		Ports:         []corev1.ContainerPort{{Name: "linkerd-proxy", ContainerPort: 4143, Protocol: corev1.ProtocolTCP}, {Name: "linkerd-admin", ContainerPort: 4191, Protocol: corev1.ProtocolTCP}},
		LivenessProbe: exampleProbe("/live", 4191), ReadinessProbe: exampleProbe("/ready", 4191), VolumeMounts: exampleMounts(),
		SecurityContext:        &corev1.SecurityContext{RunAsUser: new(int64(2102)), RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true)},
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	settings := map[string]string{
		"LISTEN_ADDR": "0.0.0.0:4143", "ADMIN_LISTEN_ADDR": "0.0.0.0:4191", "CONTROL_LISTEN_ADDR": "0.0.0.0:4190",
		"INBOUND_LISTEN_ADDR": "0.0.0.0:4143", "OUTBOUND_LISTEN_ADDR": "127.0.0.1:4140", "DESTINATION_SVC_ADDR": "linkerd-dst-headless.linkerd.svc.cluster.local.:8086",
		"DESTINATION_PROFILE_NETWORKS": "10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16", "LOG": "warn,linkerd=info", "LOG_FORMAT": "plain",
		"POLICY_SVC_ADDR": "linkerd-policy.linkerd.svc.cluster.local.:8090", "POLICY_CLUSTER_NETWORKS": "10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16",
		"INBOUND_PORTS_DISABLE_PROTOCOL_DETECTION": "25,587,3306,4444,5432,6379,9300,11211", "IDENTITY_DIR": "/var/run/linkerd/identity/end-entity",
		"IDENTITY_SVC_ADDR": "linkerd-identity-headless.linkerd.svc.cluster.local.:8080", "INBOUND_CONNECT_TIMEOUT": "100ms", "OUTBOUND_CONNECT_TIMEOUT": "1000ms",
		"IDENTITY_LOCAL_NAME": "default.team.serviceaccount.identity.linkerd.cluster.local", "DESTINATION_CONTEXT": `{"ns":"$(_pod_ns)", "nodeName":"$(_pod_nodeName)", "pod":"$(_pod_name)"}`,
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "LINKERD2_PROXY_" + name, Value: settings[name]})
	}
	for _, field := range []string{"metadata.name", "metadata.namespace", "spec.nodeName"} {
		c.Env = append(c.Env, corev1.EnvVar{Name: "_pod_" + field, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}}})
	}
	return c
}

func exampleInit() corev1.Container {
	return corev1.Container{
		Name: "linkerd-init", Image: exampleImage, ImagePullPolicy: corev1.PullIfNotPresent, Resources: exampleResources(), VolumeMounts: exampleMounts(),
		Args: []string{
			"--incoming-proxy-port", "4143", "--outgoing-proxy-port", "4140", "--proxy-uid", "2102",
			"--inbound-ports-to-ignore", "4190,4191,4567,4568", "--outbound-ports-to-ignore", "4567,4568",
		},
	}
}

func exampleResources() corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func exampleProbe(path string, port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP}},
		InitialDelaySeconds: 10, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func exampleMounts() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/app", ReadOnly: true},
		{Name: "linkerd-identity-end-entity", MountPath: "/var/run/linkerd/identity/end-entity"},
		{Name: "kube-api-access-7xk2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
	}
}

func exampleVolumes() []corev1.Volume {
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}, DefaultMode: new(int32(0o644))}}},
		{Name: "linkerd-identity-end-entity", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		{Name: "kube-api-access-7xk2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		}}}},
	}
}

func exampleStatus(container string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: container, Ready: true, Started: new(true), Image: exampleImage,
		ImageID:     "registry.example.org/platform/image@sha256:0f2a1c5ad1a0a5e0b3a4c36ac2d1b3d5d1b9f6c4b0f1a7c5e3d2b1a09f8e7d6c",
		ContainerID: "containerd://5d1f1c5ad1a0a5e0b3a4c36ac2d1b3d5d1b9f6c4b0f1a7c5e3d2b1a09f8e7d6c",
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: exampleTime}},
	}
}
