package publisher

import (
	"context"
	"strings"

	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// Evaluated is what an object asks for now, as one source sees it.
type Evaluated struct {
	Source string
	Key    source.Key
	Result source.Result
	// Names are the canonical names that the object asks for, sorted, with those of PTR records. What
	// settings drop isn't among them.
	Names []string
}

// Evaluated returns what the sources see of an object: one value for each source that has it. The
// case of the kind doesn't matter.
func (p *Publisher) Evaluated(ctx context.Context, kind, namespace, name string) ([]Evaluated, error) {
	return p.evaluatedThose(ctx, 0, func(k source.Key, _ func() source.Result) bool {
		is, _, _ := strings.Cut(k.Kind, ".")
		return strings.EqualFold(is, kind) && k.Namespace == namespace && k.Name == name
	})
}

// Missing returns objects that would ask for a name if something were not in the way, at most so
// many: their Result says what, in a skip about the name. It looks at all objects.
func (p *Publisher) Missing(ctx context.Context, name string, most int) ([]Evaluated, error) {
	return p.evaluatedThose(ctx, most, func(_ source.Key, evaluate func() source.Result) bool {
		for _, s := range evaluate().Skipped {
			if strings.EqualFold(strings.TrimSuffix(s.Subject, "."), name) {
				return true
			}
		}
		return false
	})
}

// evaluatedThose evaluates the objects that a function chooses, little by little, so that the loop
// goes on meanwhile. Most is how many there are at most, 0 for any number.
func (p *Publisher) evaluatedThose(ctx context.Context, most int, chosen func(source.Key, func() source.Result) bool) ([]Evaluated, error) {
	var found []Evaluated
	for _, src := range p.Sources {
		if src.Keys == nil {
			continue
		}
		keys := src.Keys()
		err := p.visitAll(ctx, func() (more bool) {
			for range together {
				if len(keys) == 0 || most > 0 && len(found) == most {
					return false
				}
				key := keys[0]
				keys = keys[1:]
				if chosen(key, func() source.Result { return src.Evaluate(key) }) {
					origin := desired.Origin{Source: src.Name, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
					found = append(found, Evaluated{src.Name, key, src.Evaluate(key), p.Desired.NamesOf(origin)})
				}
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
