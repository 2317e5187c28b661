package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage is how many bytes of a problem a condition has.
const maxMessage = 1024

// AnnotationClaim is the annotation of a DNSRecord that says what it claims while it isn't
// ready. Its value begins with one of the words below. After [intended], there are the prints of
// the targets that the record set may have.
const AnnotationClaim = "signpost.dev/claim"

// Words of [AnnotationClaim].
const (
	// intended: the record set is ours if it has what was being written.
	intended = "intended"
	// confirmed: the record set is ours; a change of it is underway or has failed.
	confirmed = "confirmed"
	// refuted: the record set, if one exists, isn't ours.
	refuted = "refuted"
)

// ObjectName returns the name of the DNSRecord of a record set. ExternalDNS uses the same name
// (spec/dns.md §4.5).
func ObjectName(key dns.Key) string {
	const hashed = 4
	sum := sha256.Sum256([]byte(key.Name + "/" + strings.ToUpper(key.Type) + "/" + key.SetIdentifier))
	suffix := "-" + hex.EncodeToString(sum[:hashed])
	base := strings.Trim(notInNames.ReplaceAllString(key.Name, "-"), "-")
	if base == "" {
		base = "record"
	}
	return base[:min(len(base), longestName-len(suffix))] + suffix
}

// longestName is the maximum length of an object's name (RFC 1123).
const longestName = 253

var notInNames = regexp.MustCompile("[^a-z0-9]+")

// fill sets the spec, the owner and the annotation of an object to those of a claim, and reports
// whether they have changed.
func fill(object *externaldns.DNSRecord, c *claims.Claim) (changed bool) {
	was := object.DeepCopy()
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	object.Labels[externaldns.LabelOwner] = c.Owner()
	if c.Set != nil {
		object.Spec = externaldns.DNSRecordSpec{Endpoint: endpointOf(c.Set, c.Labels)}
	}
	if c.Progress != claims.Done {
		if object.Annotations == nil {
			object.Annotations = map[string]string{}
		}
		object.Annotations[AnnotationClaim] = annotationOf(c)
	}
	return !equality.Semantic.DeepEqual(was, object)
}

func annotationOf(c *claims.Claim) string {
	switch c.State {
	case claims.Confirmed:
		return confirmed
	case claims.Refuted:
		return refuted
	default:
		words := []string{intended}
		for _, p := range c.Prints {
			words = append(words, string(p))
		}
		return strings.Join(words, " ")
	}
}

func endpointOf(r *dns.RecordSet, labels map[string]string) externaldns.Endpoint {
	e := externaldns.Endpoint{
		DNSName: r.Name, Targets: r.Targets, RecordType: r.Type, SetIdentifier: r.SetIdentifier, RecordTTL: r.TTL, Labels: labels,
	}
	for _, p := range r.Properties {
		e.ProviderSpecific = append(e.ProviderSpecific, externaldns.ProviderSpecificProperty{Name: p.Name, Value: p.Value})
	}
	return e
}

// setOf is the inverse of endpointOf.
func setOf(e *externaldns.Endpoint) *dns.RecordSet {
	r := &dns.RecordSet{Name: e.DNSName, Type: strings.ToUpper(e.RecordType), Targets: e.Targets, SetIdentifier: e.SetIdentifier, TTL: e.RecordTTL}
	for _, p := range e.ProviderSpecific {
		r.Properties = append(r.Properties, dns.Property{Name: p.Name, Value: p.Value})
	}
	return r
}

// handle identifies an object.
type handle struct{ name, uid string }

func nameOf(c *claims.Claim) string { return c.Handle.(handle).name }

func claimOf(object *externaldns.DNSRecord) *claims.Claim {
	e := &object.Spec.Endpoint
	c := &claims.Claim{
		Key: dns.Key{Name: dns.Canonical(e.DNSName), Type: strings.ToUpper(e.RecordType), SetIdentifier: e.SetIdentifier}, Set: setOf(e),
		Labels: maps.Clone(e.Labels), Handle: handle{object.Name, string(object.UID)},
	}
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Labels[dns.LabelOwner] = object.Labels[externaldns.LabelOwner]
	ready := meta.FindStatusCondition(object.Status.Conditions, externaldns.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		c.State, c.Progress = claims.Confirmed, claims.Done
		if g := ready.ObservedGeneration; g == 0 || g == object.Generation {
			// Otherwise the spec is that of a change that was about to be made.
			c.Seen = claims.PrintOf(c.Set)
		}
		return c
	}
	if ready != nil && ready.Reason == externaldns.ReasonFailed {
		c.Progress, c.Problem = claims.Failed, ready.Message
	}
	words := strings.Fields(object.Annotations[AnnotationClaim])
	switch {
	case len(words) == 0:
		c.State = claims.Refuted
	case words[0] == confirmed:
		c.State = claims.Confirmed
	case words[0] == intended:
		for _, p := range words[1:] {
			c.Prints = append(c.Prints, claims.Print(p))
		}
	default:
		c.State = claims.Refuted
	}
	return c
}

func setReady(object *externaldns.DNSRecord, c *claims.Claim, now time.Time) (changed bool) {
	ready := metav1.Condition{
		Type: externaldns.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: object.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	switch c.Progress {
	case claims.Done:
		ready.Status, ready.Reason = metav1.ConditionTrue, externaldns.ReasonProgrammed
	case claims.Failed:
		ready.Reason, ready.Message = externaldns.ReasonFailed, sanitize.Shorten(c.Problem, maxMessage)
	default:
		ready.Reason = externaldns.ReasonAccepted
	}
	return meta.SetStatusCondition(&object.Status.Conditions, ready)
}
