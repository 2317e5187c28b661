package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
)

// ConditionOwned is the type of the condition of a DNSRecord that says whether the record set
// at the provider is ours. See the package comment.
const ConditionOwned = "Owned"

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

// longestName is the greatest length of an object's name (RFC 1123).
const longestName = 253

var notInNames = regexp.MustCompile("[^a-z0-9]+")

// newObject returns the DNSRecord of a record set.
func newObject(r *dns.RecordSet, ownerID string) *externaldns.DNSRecord {
	return &externaldns.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{
			Name:   ObjectName(r.Key()),
			Labels: map[string]string{externaldns.LabelOwner: ownerID},
		},
		Spec: externaldns.DNSRecordSpec{Endpoint: endpointOf(r)},
	}
}

func endpointOf(r *dns.RecordSet) externaldns.Endpoint {
	e := externaldns.Endpoint{
		DNSName: r.Name, Targets: r.Targets, RecordType: r.Type, SetIdentifier: r.SetIdentifier, RecordTTL: r.TTL, Labels: r.Labels,
	}
	for _, p := range r.Properties {
		e.ProviderSpecific = append(e.ProviderSpecific, externaldns.ProviderSpecificProperty{Name: p.Name, Value: p.Value})
	}
	return e
}

func keyOf(object *externaldns.DNSRecord) dns.Key {
	e := &object.Spec.Endpoint
	return dns.Key{Name: dns.Canonical(e.DNSName), Type: strings.ToUpper(e.RecordType), SetIdentifier: e.SetIdentifier}
}

// claim is what an object says about the owner of a record.
type claim string

const (
	// programmed: the record is ours, and as the object says.
	programmed claim = "programmed"
	// unsettled: the record is ours, but the outcome of a change to it isn't known.
	unsettled claim = "unsettled"
	// intended: the record is ours if it has what was being written.
	intended claim = "intended"
	// refuted: the record, if there is one, isn't ours.
	refuted claim = "refuted"
	// unproven: the object isn't ready, and says nothing more.
	unproven claim = "unproven"
)

// claimOf reads the conditions of an object.
func claimOf(object *externaldns.DNSRecord) claim {
	if meta.IsStatusConditionTrue(object.Status.Conditions, externaldns.ConditionReady) {
		return programmed
	}
	owned := meta.FindStatusCondition(object.Status.Conditions, ConditionOwned)
	switch {
	case owned == nil:
		return unproven
	case owned.Status == metav1.ConditionTrue:
		return unsettled
	case owned.Status == metav1.ConditionUnknown:
		return intended
	default:
		return refuted
	}
}

// entry is what the owner keeps of an object.
type entry struct {
	name  string
	uid   string
	claim claim
	// labels are those of the record, with its owner. The map is never changed.
	labels map[string]string
	// intent is what was being written, for objects that aren't programmed. tried is when that
	// was last tried.
	intent *externaldns.Endpoint
	tried  time.Time
}

func newEntry(object *externaldns.DNSRecord) *entry {
	e := &entry{name: object.Name, uid: string(object.UID), claim: claimOf(object), labels: maps.Clone(object.Spec.Endpoint.Labels)}
	if e.labels == nil {
		e.labels = map[string]string{}
	}
	e.labels[dns.LabelOwner] = object.Labels[externaldns.LabelOwner]
	if e.claim == programmed {
		return e
	}
	e.intent = object.Spec.Endpoint.DeepCopy()
	if owned := meta.FindStatusCondition(object.Status.Conditions, ConditionOwned); owned != nil {
		e.tried = owned.LastTransitionTime.Time
	}
	return e
}

// owns reports whether a listed record is the one that the object describes.
func (e *entry) owns(r *dns.RecordSet, now time.Time) bool {
	switch e.claim {
	case programmed, unsettled:
		return true
	case intended:
		return now.Sub(e.tried) < abandonedAfter && dns.SameTargets(r.Targets, e.intent.Targets) &&
			(e.intent.RecordTTL <= 0 || r.TTL <= 0 || e.intent.RecordTTL == r.TTL)
	default:
		return false
	}
}

// abandoned reports whether the record of an object was never made, and nobody tries to make
// it any more. Somebody else may create one like it.
func (e *entry) abandoned(now time.Time) bool {
	return (e.claim == intended || e.claim == refuted) && now.Sub(e.tried) >= abandonedAfter
}

// abandonedAfter is long enough for a restart after a crash, and for the publisher to try
// again.
const abandonedAfter = time.Hour

func (e *entry) same(other *entry) bool {
	return e.uid == other.uid && e.claim == other.claim && maps.Equal(e.labels, other.labels)
}

// finding is what the conditions of an object have to say.
type finding struct {
	owned           metav1.ConditionStatus
	reason, message string
}

// setConditions sets both conditions of an object.
func setConditions(object *externaldns.DNSRecord, f finding, now time.Time) {
	ready := metav1.ConditionFalse
	if f.reason == externaldns.ReasonProgrammed {
		ready = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
		Type: externaldns.ConditionReady, Status: ready, Reason: f.reason, Message: f.message, ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(now),
	})
	// The time of the condition is that of the last attempt, even if the status doesn't
	// change.
	meta.RemoveStatusCondition(&object.Status.Conditions, ConditionOwned)
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
		Type: ConditionOwned, Status: f.owned, Reason: f.reason, ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(now),
	})
}
