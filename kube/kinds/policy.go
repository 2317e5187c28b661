package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/catalog"
)

// The annotations of a Service for its xDS clients.
const (
	balancerAnnotation     = "signpost.dev/lb-policy"
	outliersAnnotation     = "signpost.dev/outlier-detection"
	maxRequestsAnnotation  = "signpost.dev/max-requests"
	retryOnAnnotation      = "signpost.dev/retry-on"
	retryCountAnnotation   = "signpost.dev/retry-count"
	retryBackoffAnnotation = "signpost.dev/retry-backoff"
	timeoutAnnotation      = "signpost.dev/timeout"
	tlsAnnotation          = "signpost.dev/tls"
	visibleToAnnotation    = "signpost.dev/xds-visible-to"
)

const (
	// policyLimit is the length of an annotation for xDS clients, in bytes.
	policyLimit = 512
	// defaultRetries is the number of retries of signpost.dev/retry-on alone.
	defaultRetries = 2
	// retriesLimit is the largest number of retries: gRPC clients make at most 5 attempts.
	retriesLimit = 4
	// delayLimit is the maximum of all durations.
	delayLimit = 24 * time.Hour
	// subsetLimit is the largest number of endpoints in a subset.
	subsetLimit = 1 << 16
)

// retryStatuses are the statuses that gRPC clients can retry.
var retryStatuses = []string{"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"}

// trafficPolicy reads the annotations for xDS clients; nil if there are none. An invalid value is a problem,
// and is treated as missing.
func (d *fieldReader) trafficPolicy(annotations map[string]string) *catalog.TrafficPolicy {
	var p catalog.TrafficPolicy
	readPolicy(d, annotations, balancerAnnotation, parseBalancer, &p.Balancer)
	readPolicy(d, annotations, outliersAnnotation, parseOutliers, &p.Outliers)
	readPolicy(d, annotations, maxRequestsAnnotation, func(text string) (uint32, error) { return parseNumber(text, 1<<31) }, &p.MaxRequests)
	readPolicy(d, annotations, timeoutAnnotation, parseDelay, &p.Timeout)
	p.Retry = d.retryPolicy(annotations)
	if _, protected := annotations[tlsAnnotation]; protected {
		p.TLS = catalog.SPIFFE // the default for an invalid value, because calls must not be less protected than intended
		readPolicy(d, annotations, tlsAnnotation, parseTLS, &p.TLS)
	}
	if _, restricted := annotations[visibleToAnnotation]; restricted {
		p.VisibleTo = ownNamespace // the default for an invalid value, because the Service must not be visible to more clients than intended
		readPolicy(d, annotations, visibleToAnnotation, parseNamespaces, &p.VisibleTo)
	}
	if p == (catalog.TrafficPolicy{}) {
		return nil
	}
	return &p
}

// retryPolicy reads the annotations about retries. It returns nil if signpost.dev/retry-on is missing or
// invalid, because the others have no effect without it.
func (d *fieldReader) retryPolicy(annotations map[string]string) *catalog.RetryPolicy {
	var backoff [2]time.Duration
	r := catalog.RetryPolicy{Count: defaultRetries}
	readPolicy(d, annotations, retryOnAnnotation, parseRetryOn, &r.On)
	readPolicy(d, annotations, retryCountAnnotation, func(text string) (uint32, error) { return parseNumber(text, retriesLimit) }, &r.Count)
	readPolicy(d, annotations, retryBackoffAnnotation, parseBackoff, &backoff)
	if r.On == "" {
		return nil
	}
	r.Backoff, r.MaxBackoff = backoff[0], backoff[1]
	return &r
}

// readPolicy sets to to the value of an annotation, if the object has the annotation and the value is valid.
func readPolicy[T any](d *fieldReader, annotations map[string]string, annotation string, parse func(string) (T, error), to *T) {
	text, ok := annotations[annotation]
	if !ok {
		return
	}
	if !fits(text, policyLimit) {
		d.Add(d.unfit(text, policyLimit)+", so it is not used", "metadata.annotations[%s]", annotation)
		return
	}
	parsed, err := parse(text)
	if err != nil {
		d.Add(quote(text)+" is not used: "+err.Error(), "metadata.annotations[%s]", annotation)
		return
	}
	*to = parsed
}

// setting is an item of a list such as "ring-hash; header=x-user".
type setting struct {
	key, value string
	hasValue   bool
}

func settings(text string) []setting {
	var list []setting
	for item := range strings.SplitSeq(text, ";") {
		key, v, valued := strings.Cut(item, "=")
		list = append(list, setting{strings.TrimSpace(key), strings.TrimSpace(v), valued})
	}
	return list
}

var balancerKinds = map[string]catalog.BalancerKind{
	"round-robin": catalog.RoundRobin, "least-request": catalog.LeastRequest, "ring-hash": catalog.RingHash,
	"weighted-round-robin": catalog.WeightedRoundRobin, "subset": catalog.SubsetOf, "pick-first": catalog.PickFirst,
}

func parseBalancer(text string) (catalog.Balancer, error) {
	list := settings(text)
	kind, ok := balancerKinds[list[0].key]
	if !ok || list[0].hasValue {
		return catalog.Balancer{}, fmt.Errorf("write least-request, ring-hash, weighted-round-robin, subset, pick-first or round-robin")
	}
	b := catalog.Balancer{Kind: kind}
	for _, s := range list[1:] {
		switch {
		case kind == catalog.RingHash && s.key == "header" && isHeaderName(s.value):
			b.Header = s.value
		case kind == catalog.RingHash && s.key == "stable" && !s.hasValue:
			b.Stable = true
		case kind == catalog.SubsetOf && s.key == "size":
			n, err := parseNumber(s.value, subsetLimit)
			if err != nil {
				return catalog.Balancer{}, err
			}
			b.Size = n
		default:
			return catalog.Balancer{}, fmt.Errorf("%s can't be set to %s", quote(s.key), quote(s.value))
		}
	}
	if kind == catalog.SubsetOf && b.Size == 0 {
		return catalog.Balancer{}, fmt.Errorf("write subset; size=N")
	}
	return b, nil
}

// ownNamespace stands for the namespace of a Service in signpost.dev/xds-visible-to.
const ownNamespace = "."

// parseNamespaces returns a list of namespaces, sorted.
func parseNamespaces(text string) (string, error) {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item != ownNamespace && (item == "" || len(item) > labelLimit || strings.Trim(item, "abcdefghijklmnopqrstuvwxyz0123456789-") != "") {
			return "", fmt.Errorf("%s is no namespace, so only clients in the namespace of the Service may see it", quote(item))
		}
		list = append(list, item)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ","), nil
}

func parseTLS(text string) (catalog.EndpointTLS, error) {
	switch strings.TrimSpace(text) {
	case "spiffe":
		return catalog.SPIFFE, nil
	case "linkerd":
		return catalog.LinkerdTLS, nil
	default:
		return catalog.NoTLS, fmt.Errorf("write spiffe or linkerd, or remove the annotation; clients verify SPIFFE IDs until then")
	}
}

// isHeaderName reports whether a text can be the name of an HTTP/2 header.
func isHeaderName(text string) bool {
	return text != "" && len(text) <= labelLimit && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func parseOutliers(text string) (*catalog.OutlierDetection, error) {
	var o catalog.OutlierDetection
	for _, s := range settings(text) {
		if err := setOutlier(&o, s); err != nil {
			return nil, err
		}
	}
	if o.SuccessRate == 0 && o.FailurePercentage == 0 {
		return nil, fmt.Errorf("write success-rate or failure-percentage, such as failure-percentage=50; interval=10s")
	}
	return &o, nil
}

func setOutlier(o *catalog.OutlierDetection, s setting) (err error) {
	number := func(to *uint32, standard, most uint32) {
		if *to = standard; s.hasValue || standard == 0 {
			*to, err = parseNumber(s.value, most)
		}
	}
	switch s.key {
	case "interval":
		o.Interval, err = parseDelay(s.value)
	case "ejection-time":
		o.EjectionTime, err = parseDelay(s.value)
	case "max-ejection-time":
		o.MaxEjectionTime, err = parseDelay(s.value)
	case "max-ejected":
		number(&o.MaxEjected, 0, 100)
	case "success-rate":
		number(&o.SuccessRate, 1900, 100_000)
	case "failure-percentage":
		number(&o.FailurePercentage, 85, 100)
	case "min-hosts":
		number(&o.MinHosts, 0, 1<<16)
	case "min-requests":
		number(&o.MinRequests, 0, 1<<20)
	default:
		return fmt.Errorf("there is no setting %s", quote(s.key))
	}
	return err
}

func parseNumber(text string, most uint32) (uint32, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil || n == 0 || n > uint64(most) {
		return 0, fmt.Errorf("write a number from 1 to %d", most)
	}
	return uint32(n), nil
}

// parseDelay parses a duration of at least 1 ms.
func parseDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || delay < time.Millisecond || delay > delayLimit {
		return 0, fmt.Errorf("write a duration from 1ms to 24h, such as 300ms")
	}
	return delay, nil
}

// parseRetryOn parses a list of statuses, and returns it sorted and without duplicates.
func parseRetryOn(text string) (string, error) {
	var on []string
	for status := range strings.SplitSeq(text, ",") {
		status = strings.TrimSpace(status)
		if !slices.Contains(retryStatuses, status) {
			return "", fmt.Errorf("gRPC clients retry on %s only", strings.Join(retryStatuses, ", "))
		}
		on = append(on, status)
	}
	slices.Sort(on)
	return strings.Join(slices.Compact(on), ","), nil
}

// parseBackoff parses the first delay and, after a comma, the longest one.
func parseBackoff(text string) (backoff [2]time.Duration, err error) {
	first, longest, both := strings.Cut(text, ",")
	if backoff[0], err = parseDelay(first); err != nil || !both {
		return backoff, err
	}
	if backoff[1], err = parseDelay(longest); err == nil && backoff[1] < backoff[0] {
		err = fmt.Errorf("the longest delay is below the first one")
	}
	return backoff, err
}
