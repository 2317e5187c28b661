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

// ConditionOwned is the type of the condition of a DNSRecord that says whether the record
// set at the provider is the owner's, see the comment of the package.
const ConditionOwned = "Owned"

// ObjectName returns the name of the DNSRecord of a record set, which is the one that
// ExternalDNS gives it (spec/dns.md §4.5).
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

// longestName is that of an object (RFC 1123).
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

// claim is what an object says about who has a record.
type claim string

const (
	// programmed: the record is as the object says, and the owner's.
	programmed claim = "programmed"
	// unsettled: the record is the owner's; of a change to it nobody knows what became.
	unsettled claim = "unsettled"
	// intended: the record is the owner's if it has what was being written.
	intended claim = "intended"
	// refuted: the record, if there is one, isn't the owner's.
	refuted claim = "refuted"
	// unproven: an object of somebody who doesn't say more than that it isn't ready.
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

// entry is what is kept of an object.
type entry struct {
	name  string
	uid   string
	claim claim
	// labels are those of the record, with its owner. They are not changed.
	labels map[string]string
	// intent is what was being written, only of objects that are not programmed, and tried
	// when that was tried last.
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

// owns reports whether a record that is listed is the one of the object.
func (e *entry) owns(r *dns.RecordSet, now time.Time) bool {
	switch e.claim {
	case programmed, unsettled:
		return true
	case intended:
		return now.Sub(e.tried) < voidAfter && dns.SameTargets(r.Targets, e.intent.Targets) &&
			(e.intent.RecordTTL <= 0 || r.TTL <= 0 || e.intent.RecordTTL == r.TTL)
	default:
		return false
	}
}

// void reports whether an object speaks of a record that was never made, and that nobody
// tries to make any more. Somebody else may make one like it.
func (e *entry) void(now time.Time) bool {
	return (e.claim == intended || e.claim == refuted) && now.Sub(e.tried) >= voidAfter
}

// voidAfter is long enough to start again after a crash, and for the publisher to try
// again what failed.
const voidAfter = time.Hour

func (e *entry) same(other *entry) bool {
	return e.uid == other.uid && e.claim == other.claim && maps.Equal(e.labels, other.labels)
}

// finding is what the conditions of an object are to say.
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
	// Its time is that of the last attempt, whether its status changes or not.
	meta.RemoveStatusCondition(&object.Status.Conditions, ConditionOwned)
	meta.SetStatusCondition(&object.Status.Conditions, metav1.Condition{
		Type: ConditionOwned, Status: f.owned, Reason: f.reason, ObservedGeneration: object.Generation,
		LastTransitionTime: metav1.NewTime(now),
	})
}
