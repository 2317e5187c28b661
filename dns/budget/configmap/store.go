// Package configmap stores the budgets of a publisher in a ConfigMap of the cluster.
//
// The ConfigMap is made at the first write. Its data has an entry for each owner ID, so that two
// installations in one namespace don't take each other's budgets for their own; entries and labels
// that the package doesn't know stay as they are. A write states the version that it replaces, and
// reads again when somebody else was faster. Package configure makes a [Store] for each publisher,
// and package budget uses it.
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

// baseName is what the names of all ConfigMaps begin with. It is that of a publisher without a
// name.
const baseName = "signpost-dns-budget"

// attempts is how often a write is tried when others write at the same time.
const attempts = 5

// Store is a ConfigMap. Make one with [New].
type Store struct {
	client      corev1client.ConfigMapsGetter
	namespace   string
	name, entry string
}

var _ budget.Store = (*Store)(nil)

// New returns the store of a publisher, which may have no name, for an owner ID. The client must
// have a timeout for its requests.
func New(client corev1client.ConfigMapsGetter, namespace, publisher, owner string) *Store {
	return &Store{client: client, namespace: namespace, name: Name(publisher), entry: recognisable(owner) + ".json"}
}

// Name returns the name of the ConfigMap of a publisher, which may have no name.
func Name(publisher string) string {
	if publisher == "" {
		return baseName
	}
	return baseName + "-" + recognisable(publisher)
}

// plain are texts that may be parts of names as they are. The hash of another one begins with a
// zero and an x, which none of these does.
var plain = regexp.MustCompile(`^[a-z1-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// recognisable returns a text that can be part of the name of an object, and that no other text
// has.
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

// get returns the ConfigMap; nil if there is none.
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

// explain returns an error that names the ConfigMap, and is [budget.ErrNoStore] if other attempts fail, too,
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

// oneLine returns the text of an error that others may have written.
func oneLine(err error) string {
	const most = 500
	return sanitize.Shorten(strings.Join(strings.Fields(err.Error()), " "), most)
}
