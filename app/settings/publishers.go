package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/flagreason"
	"github.com/signpostd/signpost/internal/nearest"
	"github.com/signpostd/signpost/kube"
)

// publishersValue is the list of publishers of a config file.
type publishersValue struct{ target *DNS }

func (v *publishersValue) String() string {
	return fmt.Sprintf("%d publishers", len(v.target.Publishers))
}
func (v *publishersValue) Type() string { return "publishers" }

// Set implements pflag.Value. There is no such flag.
func (v *publishersValue) Set(string) error {
	return errors.New("publishers can be set in a config file only")
}

func (v *publishersValue) decode(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("must be a list of publishers, not %s", describeNode(n))
	}
	if len(n.Content) == 0 {
		return errors.New("is empty: add a publisher")
	}
	var errs []error
	names := map[string]bool{}
	for i, item := range n.Content {
		o, found := decodePublisher(resolveAlias(item), v.target)
		if len(found) == 0 && names[o.Name] {
			found = []*nodeError{{node: item, reason: fmt.Sprintf("another publisher has the name %q: give each publisher its own", o.Name)}}
		}
		for _, e := range found {
			e.field = fmt.Sprintf("[%d]%s", i, e.field)
			errs = append(errs, e)
		}
		if o != nil {
			names[o.Name] = true
			v.target.Publishers = append(v.target.Publishers, o)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	most := 0
	for _, names := range namespacesOf(v.target.Publishers) {
		most = max(most, len(names))
	}
	if most > kube.MaxNamespaces {
		errs = append(errs, fmt.Errorf("name %d namespaces together: name at most %d, or have one publisher read all, without namespace", most, kube.MaxNamespaces))
	}
	return errors.Join(append(errs, rivals(v.target.Publishers, n))...)
}

// rivals returns an error for each publisher of a list that would delete the records of an earlier
// publisher.
func rivals(publishers []*configure.Options, list *yaml.Node) error {
	var errs []error
	for i, o := range publishers {
		for j, before := range publishers[:i] {
			if shared, rivals := configure.Rivals(before, o); rivals {
				errs = append(errs, &nodeError{
					node: list.Content[i], field: fmt.Sprintf("[%d].txt-owner-id", i),
					reason: fmt.Sprintf("is %q, as that of publishers[%d], and both may write to %s, so each would delete the records of the other: give each its own, or keep them apart by domain-filter or zone-name-filter (with the registry txt also by zone-id-filter)", o.Registry.OwnerID, j, shared),
				})
				break
			}
		}
	}
	return errors.Join(errs...)
}

// decodePublisher parses a publisher of a section, whose fields have the names of flags.
func decodePublisher(n *yaml.Node, section *DNS) (*configure.Options, []*nodeError) {
	if n.Kind != yaml.MappingNode {
		return nil, []*nodeError{{node: n, reason: "must be a mapping, not " + describeNode(n)}}
	}
	o := configure.NewForFile()
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	o.Flags(flags)
	var found []*nodeError
	fields := publisherFields{whole: n, values: map[string]*yaml.Node{}, bad: map[*yaml.Node]bool{}, meant: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		field := "." + key.Value
		if fields.values[key.Value] != nil {
			found = append(found, &nodeError{node: key, field: field, reason: "is given twice: remove one of them"})
			continue
		}
		fields.values[key.Value] = value
		if err := setPublisherField(o, flags, key.Value, value); err != nil {
			found = append(found, &nodeError{node: value, field: field, reason: err.Error()})
			if near, ok := nearestField(flags, key.Value); ok && flags.Lookup(key.Value) == nil {
				fields.meant[near] = value
			}
		}
	}
	o.Settle()
	fields.wrong(found)
	errs := Leaves(section.readSecretFiles(flags))
	errs = append(errs, Leaves(o.Validate())...)
	for _, r := range o.Remarks() {
		errs = append(errs, fmt.Errorf("--%s=%s: %s", r.Flag, r.Value, r.Reason))
	}
	if section.also != nil && len(errs)+len(found) == 0 {
		errs = Leaves(section.also(o))
	}
	return o, append(found, fields.locate(flags, errs)...)
}

func (o *DNS) readSecretFiles(flags *pflag.FlagSet) error {
	if o.secretFile == nil {
		return configure.ReadSecretFiles(flags)
	}
	return configure.ReadSecretFilesBy(flags, o.secretFile)
}

// PerProcess are the flags of `signpost dns` that a publisher of a config file can't have.
var PerProcess = []string{"once", "events-emit", "webhook-server"}

func setPublisherField(o *configure.Options, flags *pflag.FlagSet, name string, value *yaml.Node) error {
	if name == "name" {
		return textValue{&o.Name}.decode(value)
	}
	f := flags.Lookup(name)
	switch {
	case f == nil:
		return unknownPublisherField(flags, name)
	case !configure.Supported(f):
		missing, _ := configure.MissingProvider(f)
		return fmt.Errorf("belongs to the provider %s, which is not built in: remove it, or use provider: webhook with a webhook program for %[1]s", missing)
	case slices.Contains(PerProcess, name):
		return errors.New("is a flag of signpost dns only: remove it from the config file")
	}
	items := []*yaml.Node{value}
	if _, list := f.Value.(pflag.SliceValue); list && value.Kind == yaml.SequenceNode {
		items = value.Content
	}
	for _, item := range items {
		if name == rulesField && item.Kind == yaml.MappingNode {
			if err := setRule(flags, item); err != nil {
				return err
			}
			continue
		}
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return fmt.Errorf("%s, not %s", wantedOf(f), describeNode(item))
		}
		if err := flags.Set(name, item.Value); err != nil {
			var invalid *pflag.InvalidValueError
			if errors.As(err, &invalid) {
				return flagreason.Of(invalid)
			}
			return err
		}
	}
	return nil
}

func unknownPublisherField(flags *pflag.FlagSet, name string) error {
	if hint := configure.FormerFlag(name); hint != "" {
		return errors.New("unknown field: " + hint)
	}
	if near, ok := nearestField(flags, name); ok {
		return fmt.Errorf("unknown field: did you mean %s?", near)
	}
	return errors.New("unknown field: use name, or a flag of signpost dns without its dashes")
}

// nearestField returns the field that a misspelled one probably means.
func nearestField(flags *pflag.FlagSet, name string) (string, bool) {
	names := map[string]bool{"name": true}
	flags.VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	return nearest.Of(name, slices.Sorted(maps.Keys(names)))
}
