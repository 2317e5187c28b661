package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
)

// Profile has the compared fields of a response of GetProfile.
type Profile struct {
	Name     string // the Service's full name, without port
	Opaque   bool
	Routes   string // the names of the routes in order, one per line
	Budget   Budget
	Workload string // the name of the pod or ExternalWorkload with the address
}

// Budget is the retry budget of a profile.
type Budget struct {
	Ratio float32
	Min   uint32 // retries per second
	TTL   time.Duration
}

// defaultBudget is the retry budget of a profile without one (docs/spec/destination.md §3.5).
var defaultBudget = Budget{Ratio: 0.2, Min: 10, TTL: 10 * time.Second}

// ServiceProfile has the used fields of an object of linkerd.io.
type ServiceProfile struct {
	Spec struct {
		Routes []struct {
			Name string `json:"name"`
		} `json:"routes"`
		RetryBudget *struct {
			RetryRatio          float32 `json:"retryRatio"`
			MinRetriesPerSecond uint32  `json:"minRetriesPerSecond"`
			TTL                 string  `json:"ttl"`
		} `json:"retryBudget"`
	} `json:"spec"`
}

// ServiceProfileName returns the name of the ServiceProfile of a Service.
func ServiceProfileName(t Target) string { return t.Name }

// ProfileOf returns the profile of a Service (nil if deleted) and its ServiceProfile (nil if missing); see
// docs/spec/destination.md §3.2 to §3.5. ok is false if no response is required, because an ExternalName has
// no profile. The lab has no default opaque ports.
func ProfileOf(service *corev1.Service, profile *ServiceProfile, t Target) (p Profile, ok bool) {
	rule := RuleOf(service, t.Port)
	switch {
	case rule.Exists && !rule.Declared:
		return Profile{}, true
	case rule.Exists && !rule.Serves:
		return Profile{}, false
	}
	p = Profile{Name: t.Name, Budget: defaultBudget, Opaque: opaque(service, t.Port)}
	if profile == nil {
		return p, true
	}
	if b := profile.Spec.RetryBudget; b != nil {
		ttl, err := time.ParseDuration(b.TTL)
		if err != nil {
			return p, true // the default applies
		}
		p.Budget = Budget{Ratio: b.RetryRatio, Min: b.MinRetriesPerSecond, TTL: ttl}
	}
	var names []string
	for _, r := range profile.Spec.Routes {
		names = append(names, r.Name)
	}
	p.Routes = strings.Join(names, "\n")
	return p, true
}

const opaquePorts = "config.linkerd.io/opaque-ports"

// opaque reports whether the annotation of a Service has a port, as number, range or name
// (docs/spec/destination.md §3.4).
func opaque(s *corev1.Service, port uint16) bool {
	if s == nil {
		return false
	}
	for _, item := range strings.Split(s.Annotations[opaquePorts], ",") {
		item = strings.TrimSpace(item)
		named := slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name != "" && p.Name == item && p.Port == int32(port) })
		if named || inRange(item, port) {
			return true
		}
	}
	return false
}

func inRange(item string, port uint16) bool {
	low, high, ranged := strings.Cut(item, "-")
	if !ranged {
		high = low
	}
	from, err1 := strconv.ParseUint(low, 10, 16)
	to, err2 := strconv.ParseUint(high, 10, 16)
	return err1 == nil && err2 == nil && from <= uint64(port) && uint64(port) <= to
}

// GetProfileResponse returns the profile of a state. ok is false if no response is required: two objects have
// the address, or the target is a hostname.
func GetProfileResponse(s *State, namespace string, t Target) (p Profile, ok bool) {
	if t.Hostname != "" {
		return Profile{}, false
	}
	if t.IP.IsValid() {
		return profileOfAddress(s, namespace, t)
	}
	service, _ := Get[corev1.Service](s, Services, t.Namespace, t.Service)
	profile, _ := Get[ServiceProfile](s, ServiceProfiles, t.Namespace, ServiceProfileName(t))
	return ProfileOf(service, profile, t)
}

// clusterDomain is the cluster domain of the lab.
const clusterDomain = "cluster.local"

// profileOfAddress searches one namespace only (docs/spec/destination.md §3.1, §3.6).
func profileOfAddress(s *State, namespace string, t Target) (p Profile, ok bool) {
	ip := t.IP.String()
	for _, service := range All[corev1.Service](s, Services, namespace) {
		if slices.Contains(service.Spec.ClusterIPs, ip) {
			t.Service, t.Namespace = service.Name, namespace
			t.Name = fmt.Sprintf("%s.%s.svc.%s", service.Name, namespace, clusterDomain)
			return GetProfileResponse(s, namespace, Target{Service: t.Service, Namespace: t.Namespace, Name: t.Name, Port: t.Port})
		}
	}
	var pods []string
	for _, v := range s.Versions(Pods, namespace) {
		pod, err := Decode[Meta](v)
		if err == nil && pod.has(ip) {
			pods = append(pods, v.Name)
		}
	}
	if len(pods) != 1 {
		return Profile{}, false
	}
	return Profile{Budget: defaultBudget, Workload: pods[0]}, true
}

// has reports whether a pod has an address and is running.
func (m *Meta) has(ip string) bool {
	return m.Status.Phase == corev1.PodRunning && m.Metadata.DeletionTimestamp == nil &&
		(m.Status.PodIP == ip || slices.Contains(m.Status.PodIPs, corev1.PodIP{IP: ip}))
}

// ReadProfile parses a DestinationProfile in the JSON mapping of protobuf. The opacity of an address is
// ignored, because Servers determine it.
func ReadProfile(text json.RawMessage) (Profile, error) {
	reported := &pb.DestinationProfile{}
	if err := protojson.Unmarshal(text, reported); err != nil {
		return Profile{}, fmt.Errorf("read a profile: %w", err)
	}
	p := Profile{Name: reported.GetFullyQualifiedName(), Opaque: reported.GetOpaqueProtocol()}
	if b := reported.GetRetryBudget(); b != nil {
		p.Budget = Budget{Ratio: b.GetRetryRatio(), Min: b.GetMinRetriesPerSecond(), TTL: b.GetTtl().AsDuration()}
	}
	var names []string
	for _, r := range reported.GetRoutes() {
		names = append(names, r.GetMetricsLabels()["route"])
	}
	p.Routes = strings.Join(names, "\n")
	if e := reported.GetEndpoint(); e != nil {
		p.Workload, p.Opaque = ReportedWorkload(e, "").Name, false
	}
	return p, nil
}
