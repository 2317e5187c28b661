package reconcile

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/signpostd/signpost/internal/sanitize"
)

// maxText is how many bytes the text of an Event has.
const maxText = 1000

// Text returns the text of an error for an Event, shortened if it is long, and what to do. Errors
// that differ only in the order of their parts, or in the indexes of endpoints in a slice, have
// equal texts, so that a retry sends no second Event.
func Text(err error) string { return sanitize.Shorten(textOf(err), maxText) + advice(err) }

// advice says what to do about an error that names a ResourceQuota; "" for others.
func advice(err error) string {
	if strings.Contains(err.Error(), "exceeded quota: ") { // a Status has no field for this
		return ": raise this ResourceQuota, or delete objects that it counts"
	}
	return ""
}

func textOf(err error) string {
	text := err.Error()
	var all utilerrors.Aggregate
	if errors.As(err, &all) {
		parts := make([]string, len(all.Errors()))
		for i, each := range all.Errors() {
			parts[i] = textOf(each)
		}
		text = strings.Replace(text, all.Error(), joined(parts), 1)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0 {
		if before, _, ok := strings.Cut(status.Status().Message, ": "); ok {
			text = strings.Replace(text, status.Status().Message, before+": "+joined(causes(status.Status().Details.Causes)), 1)
		}
	}
	return text
}

// indexInPath matches an index in the path of a field.
var indexInPath = regexp.MustCompile(`\[[0-9]+\]`)

func causes(list []metav1.StatusCause) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = indexInPath.ReplaceAllString(c.Field, "[]") + ": " + c.Message
	}
	return texts
}

// joined returns the distinct texts, sorted.
func joined(texts []string) string {
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}
