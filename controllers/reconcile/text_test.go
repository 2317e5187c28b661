package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Errors that list endpoints in another order have the same text. Each retry sent another Event (day2 B6).
func TestEqualErrorsHaveEqualTexts(t *testing.T) {
	invalid := func(first, second string) error {
		at := field.NewPath("endpoints")
		return fmt.Errorf("update EndpointSlice ns/web-1: %w", apierrors.NewInvalid(schema.GroupKind{Kind: "EndpointSlice"}, "web-1", field.ErrorList{
			field.Invalid(at.Index(0).Child("addresses").Index(0), first, "bad"), field.Invalid(at.Index(4).Child("addresses").Index(0), second, "bad"),
		}))
	}
	several := func(texts ...string) error {
		var all []error
		for _, text := range texts {
			all = append(all, errors.New(text))
		}
		return fmt.Errorf("reconcile: %w", utilerrors.NewAggregate(all))
	}
	for _, pair := range [][2]error{
		{invalid("127.0.0.1", "0.0.0.0"), invalid("0.0.0.0", "127.0.0.1")},
		{several("pod a", "pod b"), several("pod b", "pod a")},
	} {
		if a, b := Text(pair[0]), Text(pair[1]); a != b {
			t.Errorf("equal errors have the texts\n%s\n%s", a, b)
		}
	}
	const want = `update EndpointSlice ns/web-1: EndpointSlice "web-1" is invalid: ` +
		`endpoints[].addresses[]: Invalid value: "0.0.0.0": bad; endpoints[].addresses[]: Invalid value: "127.0.0.1": bad`
	if got := Text(invalid("127.0.0.1", "0.0.0.0")); got != want {
		t.Errorf("the text is\n%s, want\n%s", got, want)
	}
	if got := Text(errors.New("plain")); got != "plain" {
		t.Errorf("the text of a plain error is %q", got)
	}
}

// An error can list thousands of pods. Its text is an Event, which etcd stores.
func TestTextsAreShort(t *testing.T) {
	var all []error
	for i := range 10_000 {
		all = append(all, fmt.Errorf("skipping pod %d", i))
	}
	if got := Text(utilerrors.NewAggregate(all)); len(got) > maxText || !strings.HasPrefix(got, "skipping pod 0;") {
		t.Errorf("the text has %d bytes and starts with %.50s, want at most %d", len(got), got, maxText)
	}
}
