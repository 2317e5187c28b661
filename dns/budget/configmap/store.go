// Package configmap stores the budgets of a publisher in a ConfigMap of the cluster. Package
// configure creates a [Store] for each publisher, and package budget uses it.
//
// The ConfigMap is created at the first write. Its data has an entry for each owner ID, so that two
// installations in one namespace don't share a budget. Unknown entries and labels stay unchanged. A
// write includes the resource version that it replaces, and is retried after a conflict.
//
// # Concurrency
//
// A [budget.Keeper] calls a Store, one call at a time.
package configmap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/internal/sanitize"
)

// baseName is the prefix of all ConfigMap names, and the name for a publisher without a name.
const baseName = "signpost-dns-budget"

// attempts limits the tries of a write after conflicts.
const attempts = 5

// Store is a ConfigMap. [New] creates it.
type Store struct {
	client      corev1client.ConfigMapsGetter
	namespace   string
	name, entry string
}

var _ budget.Store = (*Store)(nil)

// New returns the store of a publisher, whose name may be empty, for an owner ID. The client must
// have a request timeout.
func New(client corev1client.ConfigMapsGetter, namespace, publisher, owner string) *Store {
	return &Store{client: client, namespace: namespace, name: Name(publisher), entry: recognisable(owner) + ".json"}
}

// Name returns the name of the ConfigMap of a publisher, whose name may be empty.
func Name(publisher string) string {
	if publisher == "" {
		return baseName
	}
	return baseName + "-" + recognisable(publisher)
}

// plain are texts that are used in object names unchanged. The hash of any other text begins with
// "0x", which none of these does.
var plain = regexp.MustCompile(`^[a-z1-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// recognisable returns text in a form that is unique and valid in an object name.
func recognisable(text string) string {
	if plain.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "0x" + hex.EncodeToString(sum[:8])
}

// Load implements [budget.Store].
func (s *Store) Load(ctx context.Context) ([]byte, error) {
	m, err := s.get(ctx)
	if err != nil || m == nil {
		return nil, s.explain("read", err)
	}
	return []byte(m.Data[s.entry]), nil
}

// get returns the ConfigMap, or nil if it doesn't exist.
func (s *Store) get(ctx context.Context) (*corev1.ConfigMap, error) {
	m, err := s.client.ConfigMaps(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return m, nil
}

// Update implements [budget.Store].
func (s *Store) Update(ctx context.Context, change func([]byte) []byte) error {
	var err error
	for range attempts {
		if err = s.try(ctx, change); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return s.explain("write", err)
}

func (s *Store) try(ctx context.Context, change func([]byte) []byte) error {
	m, err := s.get(ctx)
	if err != nil {
		return err
	}
	if m == nil {
		m = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: map[string]string{"app.kubernetes.io/managed-by": "signpost"}},
			Data:       map[string]string{s.entry: string(change(nil))},
		}
		_, err = s.client.ConfigMaps(s.namespace).Create(ctx, m, metav1.CreateOptions{})
		return err
	}
	changed := string(change([]byte(m.Data[s.entry])))
	if changed == m.Data[s.entry] {
		return nil
	}
	m.Data = maps.Clone(m.Data)
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[s.entry] = changed
	_, err = s.client.ConfigMaps(s.namespace).Update(ctx, m, metav1.UpdateOptions{})
	return err
}

// explain adds the ConfigMap to an error. The error is [budget.ErrNoStore] if retries are pointless
// until somebody changes something.
func (s *Store) explain(verb string, err error) error {
	what := fmt.Sprintf("%s the ConfigMap %s/%s", verb, s.namespace, s.name)
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: give this process the role of deploy/rbac/dns.yaml: %s", what, budget.ErrNoStore, oneLine(err))
	case apierrors.IsInvalid(err):
		return fmt.Errorf("%s: %w: if it is immutable or was edited, delete it: %s", what, budget.ErrNoStore, oneLine(err))
	case apierrors.IsNotFound(err), apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("%s: %w: %s", what, budget.ErrNoStore, oneLine(err))
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// oneLine returns the text of an error, which may contain untrusted text.
func oneLine(err error) string {
	const most = 500
	return sanitize.Shorten(strings.Join(strings.Fields(err.Error()), " "), most)
}
