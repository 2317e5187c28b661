package model

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// RecordKey is the name and type of a record set.
type RecordKey struct {
	Name string // absolute, in lower case
	Type string // A, AAAA, …
}

// RecordSet is a record set that objects ask for.
type RecordSet struct {
	RecordKey
	// Targets are sorted and without duplicates. Each is an address in canonical form, an absolute name in
	// lower case, the text of a TXT record without quotes, or the preference and name of an MX record.
	Targets []string
	TTL     int64    // in seconds; 0 if the objects don't set it
	Objects []string // the objects that ask for it: service/lab/lb-0
}

// managedTypes are the record types that Signpost manages in the lab.
var managedTypes = []string{"A", "AAAA", "CNAME", "TXT", "MX"}

// annotationPrefixes are those of both generations of ExternalDNS (docs/spec/dns.md §6.1).
var annotationPrefixes = []string{"external-dns.alpha.kubernetes.io/", "external-dns.kubernetes.io/"}

// DNSEndpoint has the used fields of a DNSEndpoint (docs/spec/dns.md §6.8).
type DNSEndpoint struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Endpoints []struct {
			DNSName, RecordType string
			Targets             []string
			RecordTTL           int64
		}
	}
}

// WantRecords returns the records that the objects of a namespace ask for in the zones. Each set of a key is
// correct, because objects may ask for different TTLs, or for different targets of a CNAME.
func WantRecords(s *State, namespace string, zones []string) map[RecordKey][]RecordSet {
	var wanted []RecordSet
	for _, v := range s.Versions("services", namespace) {
		if service, err := Decode[corev1.Service](v); err == nil {
			wanted = append(wanted, serviceRecords(s, service)...)
		}
	}
	wanted = mergeServices(wanted)
	for _, v := range s.Versions("dnsendpoints", namespace) {
		if o, err := Decode[DNSEndpoint](v); err == nil {
			wanted = append(wanted, endpointRecords(o)...)
		}
	}
	wanted = slices.DeleteFunc(wanted, func(r RecordSet) bool {
		return len(r.Targets) == 0 || !slices.Contains(managedTypes, r.Type) || !inZones(r.Name, zones)
	})
	return settle(wanted)
}

func inZones(name string, zones []string) bool {
	return slices.ContainsFunc(zones, func(zone string) bool {
		zone = absolute(zone)
		return name == zone || strings.HasSuffix(name, "."+zone)
	})
}

// absolute returns a name in lower case with a final dot.
func absolute(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), ".")) + "."
}

// settle merges record sets with the same key and TTL (docs/spec/dns.md §1.8). CNAMEs are not merged, and are
// dropped if the name has another type (§3.3).
func settle(wanted []RecordSet) map[RecordKey][]RecordSet {
	out := map[RecordKey][]RecordSet{}
	others := map[string]bool{} // names with records of a type other than CNAME
	for _, r := range wanted {
		others[r.Name] = others[r.Name] || r.Type != "CNAME"
		same := slices.IndexFunc(out[r.RecordKey], func(o RecordSet) bool { return o.TTL == r.TTL && r.Type != "CNAME" })
		if same < 0 {
			out[r.RecordKey] = append(out[r.RecordKey], r)
			continue
		}
		merged := &out[r.RecordKey][same]
		merged.Targets = unique(slices.Concat(merged.Targets, r.Targets))
		merged.Objects = unique(slices.Concat(merged.Objects, r.Objects))
	}
	for key := range out {
		if key.Type == "CNAME" && others[key.Name] {
			delete(out, key)
		}
	}
	return out
}

func unique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// mergeServices merges the record sets of several Services under a key into that of the first Service
// (docs/spec/dns.md §6.3).
func mergeServices(wanted []RecordSet) []RecordSet {
	slices.SortStableFunc(wanted, func(a, b RecordSet) int { return cmp.Compare(a.Objects[0], b.Objects[0]) })
	var out []RecordSet
	for _, r := range wanted {
		same := slices.IndexFunc(out, func(o RecordSet) bool { return o.RecordKey == r.RecordKey && r.Type != "CNAME" })
		if same < 0 {
			out = append(out, r)
			continue
		}
		out[same].Targets = unique(slices.Concat(out[same].Targets, r.Targets))
		out[same].Objects = unique(slices.Concat(out[same].Objects, r.Objects))
	}
	return out
}

// annotation returns the value of an annotation of ExternalDNS.
func annotation(annotations map[string]string, key string) (string, bool) {
	for _, prefix := range annotationPrefixes {
		if v, ok := annotations[prefix+key]; ok {
			return v, true
		}
	}
	return "", false
}

// annotationList returns a list in an annotation, without spaces and empty elements.
func annotationList(annotations map[string]string, key string) []string {
	text, _ := annotation(annotations, key)
	list := strings.Split(strings.ReplaceAll(text, " ", ""), ",")
	return slices.DeleteFunc(list, func(item string) bool { return item == "" })
}

func serviceRecords(s *State, service *corev1.Service) []RecordSet {
	if controller, ok := annotation(service.Annotations, "controller"); ok && controller != "dns-controller" {
		return nil
	}
	ttl := ttlOf(service.Annotations)
	var out []RecordSet
	for _, hostname := range annotationList(service.Annotations, "hostname") {
		for name, targets := range serviceTargets(s, service, absolute(hostname)) {
			out = append(out, byType(name, targets, ttl, "service/"+service.Namespace+"/"+service.Name)...)
		}
	}
	return out
}

// ttlOf returns the TTL in an annotation, seconds or a duration, or 0 if it is missing or invalid.
func ttlOf(annotations map[string]string) int64 {
	const largest = 1<<31 - 1
	text, _ := annotation(annotations, "ttl")
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0
		}
		seconds = int64(d / time.Second)
	}
	if seconds < 1 || seconds > largest {
		return 0
	}
	return seconds
}

// serviceTargets returns the targets of each name of a Service (docs/spec/dns.md §6.3). The Services of the
// lab have the types ClusterIP, headless or not, and LoadBalancer.
func serviceTargets(s *State, service *corev1.Service, hostname string) map[string][]string {
	if targets := annotationList(service.Annotations, "target"); len(targets) > 0 {
		return map[string][]string{hostname: targets}
	}
	switch {
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
		targets := slices.Clone(service.Spec.ExternalIPs)
		if len(targets) == 0 {
			for _, i := range service.Status.LoadBalancer.Ingress {
				targets = append(targets, i.IP, i.Hostname)
			}
		}
		return map[string][]string{hostname: targets}
	case service.Spec.Type == corev1.ServiceTypeClusterIP && service.Spec.ClusterIP == corev1.ClusterIPNone:
		return headlessTargets(s, service, hostname)
	}
	return nil
}

// headlessTargets returns the first address of each endpoint whose pod the Service selects.
func headlessTargets(s *State, service *corev1.Service, hostname string) map[string][]string {
	out := map[string][]string{}
	for _, v := range s.Versions("endpointslices", service.Namespace) {
		slice, err := Decode[discoveryv1.EndpointSlice](v)
		if err != nil || slice.Labels[discoveryv1.LabelServiceName] != service.Name || slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		for _, e := range slice.Endpoints {
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready || service.Spec.PublishNotReadyAddresses
			if !ready || e.TargetRef == nil || e.TargetRef.Kind != "Pod" || e.TargetRef.APIVersion != "" || len(e.Addresses) == 0 {
				continue
			}
			pod, ok := Get[corev1.Pod](s, "pods", service.Namespace, e.TargetRef.Name)
			if !ok || !Selects(service, pod.Labels) {
				continue
			}
			names := []string{hostname}
			if pod.Spec.Hostname != "" {
				names = append(names, absolute(pod.Spec.Hostname+"."+hostname))
			}
			targets := annotationList(pod.Annotations, "target")
			if len(targets) == 0 {
				targets = e.Addresses[:1]
			}
			for _, name := range names {
				out[name] = append(out[name], targets...)
			}
		}
	}
	return out
}

// byType returns record sets for the types of the targets (docs/spec/dns.md §1.3).
func byType(name string, targets []string, ttl int64, object string) []RecordSet {
	sets := map[string][]string{}
	for _, target := range targets {
		if target == "" {
			continue
		}
		kind := "CNAME"
		if ip, err := netip.ParseAddr(target); err == nil {
			kind = "AAAA"
			if ip.Is4() {
				kind = "A"
			}
		}
		sets[kind] = append(sets[kind], normalTarget(kind, target))
	}
	var out []RecordSet
	for _, kind := range []string{"A", "AAAA", "CNAME"} {
		if len(sets[kind]) > 0 {
			out = append(out, RecordSet{RecordKey{name, kind}, unique(sets[kind]), ttl, []string{object}})
		}
	}
	return out
}

// normalTarget returns a target in the form of [RecordSet].
func normalTarget(kind, target string) string {
	switch kind {
	case "A", "AAAA":
		if ip, err := netip.ParseAddr(target); err == nil {
			return ip.String()
		}
	case "CNAME":
		return absolute(target)
	case "MX":
		if preference, host, ok := strings.Cut(strings.TrimSpace(target), " "); ok {
			return preference + " " + absolute(host)
		}
	case "TXT":
		return strings.Trim(target, `"`)
	}
	return target
}

// endpointRecords returns the record sets of a DNSEndpoint. An entry is not published if an address ends in a
// dot or has the wrong family for its type.
func endpointRecords(o *DNSEndpoint) []RecordSet {
	var out []RecordSet
	for _, e := range o.Spec.Endpoints {
		wrong := slices.ContainsFunc(e.Targets, func(target string) bool {
			ip, err := netip.ParseAddr(target)
			return e.RecordType == "A" && (err != nil || !ip.Is4()) || e.RecordType == "AAAA" && (err != nil || ip.Is4())
		})
		if wrong {
			continue
		}
		var targets []string
		for _, target := range e.Targets {
			targets = append(targets, normalTarget(e.RecordType, target))
		}
		key := RecordKey{absolute(e.DNSName), e.RecordType}
		out = append(out, RecordSet{key, unique(targets), max(0, e.RecordTTL), []string{"crd/" + o.Metadata.Namespace + "/" + o.Metadata.Name}})
	}
	return out
}
