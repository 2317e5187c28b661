package settings

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// publisherFields are the fields of a publisher in a config file, to find the position of an error.
type publisherFields struct {
	// whole is the node of the publisher.
	whole *yaml.Node
	// values are the values of its fields. bad are the values that are known to be invalid.
	values map[string]*yaml.Node
	bad    map[*yaml.Node]bool
	// meant are the values of misspelled fields, by the field that was probably meant.
	meant map[string]*yaml.Node
}

// wrong marks the values of errors as invalid.
func (f *publisherFields) wrong(errs []*nodeError) {
	for _, e := range errs {
		f.bad[e.node] = true
	}
}

// mention matches a flag in an error. mentioned matches a flag, with its value, at the beginning of
// an error.
var (
	mention   = regexp.MustCompile(`--([a-z0-9][a-z0-9-]*)`)
	mentioned = regexp.MustCompile(`^--([a-z0-9][a-z0-9-]*)(?:=(.*?))?: `)
)

// locate converts errors about flags into errors about fields. The position is that of the first
// existing field that an error mentions. Errors about fields known to be invalid are dropped,
// because they are consequences.
func (f *publisherFields) locate(flags *pflag.FlagSet, errs []error) []*nodeError {
	var found []*nodeError
	for _, err := range errs {
		if e := f.locateOne(flags, err.Error()); !f.bad[e.node] || e.node == f.whole {
			found = append(found, e)
		}
	}
	return found
}

func (f *publisherFields) locateOne(flags *pflag.FlagSet, text string) *nodeError {
	var first string
	e := &nodeError{node: f.whole}
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if flags.Lookup(name) == nil {
			continue
		}
		first = cmp.Or(first, name)
		if value := cmp.Or(f.values[name], f.meant[name]); value != nil {
			first, e.node = name, value
			break
		}
	}
	if first != "" {
		e.field = "." + first
	}
	if m := mentioned.FindStringSubmatch(text); m != nil && m[1] == first {
		text = strings.TrimPrefix(text, m[0])
		if m[2] != "" {
			text = "is " + m[2] + ": " + text
			e.node = itemOf(e.node, m[2])
		}
	}
	e.reason = mention.ReplaceAllStringFunc(text, func(flag string) string {
		if name := strings.TrimPrefix(flag, "--"); flags.Lookup(name) != nil {
			return name
		}
		return flag
	})
	return e
}

// itemOf returns the item of a list with a value, or the node itself.
func itemOf(n *yaml.Node, value string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if item.Value == value {
				return item
			}
		}
	}
	return n
}
