package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/nearest"
)

const (
	// APIVersion is the apiVersion of a config file.
	APIVersion = "signpost.dev/v1alpha1"
	// Kind is the kind of a config file.
	Kind = "Config"
)

// Sections of roles in a config file. A role runs if its section exists.
const (
	DestinationSection = "destination"
	ControllersSection = "controllers"
	DNSSection         = "dns"
	XDSSection         = "xds"
)

// References resolve the variables and files that a config file refers to. Nil functions use the
// environment and the files of this process.
type References struct {
	// Variable returns the environment variable that is the value of a field, and whether it is set.
	Variable func(field, name string) (value string, set bool)
	// SecretFile returns the secret in a file.
	SecretFile func(path string) (string, error)
}

// Decode parses a config file. Its error has a line for each fault, with the name of the file, the
// line, the field and the reason. For the file of another process, such as that of a pod, of must
// resolve the references of that process: those of this machine could reveal its variables and files
// to the servers that the file names.
func Decode(name string, text []byte, of References) (Config, error) {
	return decode(name, text, nil, of)
}

// Check parses a config file and returns its faults, like [Decode]. also finds further faults of a
// publisher; its error names flags.
func Check(name string, text []byte, also func(*configure.Options) error) (Config, error) {
	return decode(name, text, also, References{})
}

func decode(name string, text []byte, also func(*configure.Options) error, of References) (Config, error) {
	if of.Variable == nil {
		of.Variable = func(_, name string) (string, bool) { return os.LookupEnv(name) }
	}
	c := Default()
	c.DNS.also, c.DNS.secretFile = also, of.SecretFile
	d := &configDecoder{name: name, variable: of.Variable, settings: map[string]Setting{}, found: map[string]*yaml.Node{}, unset: map[int]bool{}}
	for _, part := range []Section{&c.Process, &c.Destination, &c.Controllers, &c.DNS, &c.XDS} {
		for _, s := range part.Settings() {
			d.settings[s.Path] = s
		}
	}
	root, err := d.parse(text)
	if err != nil {
		return Config{}, &UsageError{err}
	}
	d.variables("", root, 0)
	if d.checkHeader(root) {
		d.mapping("", root)
		_, c.RunsDestination = d.found[DestinationSection]
		_, c.RunsControllers = d.found[ControllersSection]
		_, c.RunsDNS = d.found[DNSSection]
		_, c.RunsXDS = d.found[XDSSection]
		if c.RunsDNS && d.found["dns.publishers"] == nil {
			d.fail(d.found[DNSSection], "dns.publishers", "is missing: add a list of publishers")
		}
		for _, part := range c.Sections() {
			c.Remarks = append(c.Remarks, d.checkSection(part)...)
		}
		for _, one := range c.conflicts() {
			d.failAt(one.paths, one.reason)
		}
	}
	if len(d.wrong) > 0 {
		return Config{}, &UsageError{d.err()}
	}
	if c.RunsDestination {
		c.Destination = c.Destination.Settled()
		c.XDS.ClusterDomain = cmp.Or(c.XDS.ClusterDomain, c.Destination.ClusterDomain)
		c.XDS.IdentityTrustDomain = cmp.Or(c.XDS.IdentityTrustDomain, c.Destination.IdentityTrustDomain)
	}
	c.XDS = c.XDS.Settled()
	c.origins = d.origins()
	return c, nil
}

// configDecoder walks the nodes of a config file and sets the settings.
type configDecoder struct {
	// name is the name of the file.
	name string
	// variable is [References.Variable].
	variable func(field, name string) (string, bool)
	// settings are all settings of a config file, by path.
	settings map[string]Setting
	// found has the key node of each field in the file, by path.
	found map[string]*yaml.Node
	wrong []configError
	// unset are the lines with undefined environment variables.
	unset map[int]bool
}

// configError is one fault of the file.
type configError struct {
	line         int
	path, reason string
}

// nodeError is a fault within the value of a setting.
type nodeError struct {
	node *yaml.Node
	// field is the position in the value, such as [0].policy.
	field, reason string
}

// Error implements error.
func (e *nodeError) Error() string { return e.field + ": " + e.reason }

func (d *configDecoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.wrong = append(d.wrong, configError{line: n.Line, path: path, reason: fmt.Sprintf(format, args...)})
}

// err joins all faults, in the order of the file.
func (d *configDecoder) err() error {
	slices.SortStableFunc(d.wrong, func(a, b configError) int { return a.line - b.line })
	var errs []error
	for _, w := range d.wrong {
		if d.unset[w.line] && !variable.MatchString(w.path) {
			continue // a consequence of the missing value
		}
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", d.name, w.line, w.path, w.reason))
	}
	return errors.Join(errs...)
}

// yamlLine matches the prefix of the YAML library's errors, with the line if it is known.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse returns the mapping of a file with a single document.
func (d *configDecoder) parse(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: the file is empty: begin with apiVersion: %s", d.name, APIVersion)
	}
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			return nil, fmt.Errorf("%s:%d: a second document: put everything into the first one", d.name, second.Line)
		}
	}
	if !errors.Is(err, io.EOF) {
		line := "1"
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
			line = m[1]
		}
		return nil, fmt.Errorf("%s:%s: not YAML: %s", d.name, line, yamlLine.ReplaceAllString(err.Error(), ""))
	}
	root := resolveAlias(document.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: must be a mapping, not %s: begin with apiVersion: %s", d.name, root.Line, describeNode(root), APIVersion)
	}
	return root, nil
}

// variable matches a reference to an environment variable.
var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// Variable returns NAME if a value of a config file is ${NAME}.
func Variable(value string) (name string, ok bool) {
	m := variable.FindStringSubmatch(value)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// maxDepth limits the depth at which variables are replaced, far above that of any setting.
const maxDepth = 16

// variables replaces values such as ${NAME} in or below the node of a field by environment
// variables, so that a file needs no secrets in it.
func (d *configDecoder) variables(field string, n *yaml.Node, level int) {
	if name, is := Variable(n.Value); is && n.Kind == yaml.ScalarNode {
		value, ok := d.variable(field, name)
		if !ok {
			d.fail(n, n.Value, "there is no such environment variable: set it, or write the value here")
			d.unset[n.Line] = true
			return
		}
		n.Value = value
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
			n.Tag = "" // it may be a number
		}
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			field = n.Content[i-1].Value
		}
		if level < maxDepth {
			d.variables(field, child, level+1)
		}
	}
}

// checkHeader checks the fields that identify the format, and reports whether the other fields can
// be read, which they also can if a header field is missing.
func (d *configDecoder) checkHeader(root *yaml.Node) bool {
	known := true
	for _, h := range []struct{ field, want string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		value := child(root, h.field)
		switch {
		case value == nil:
			d.fail(root, h.field, "is missing: set it to %s", h.want)
		case value.ShortTag() != "!!str" || value.Value != h.want:
			d.fail(value, h.field, "is %s, which this version can't read: set it to %s", describeNode(value), h.want)
			known = false
		}
	}
	return known
}

// child returns the value of a field, or nil.
func child(mapping *yaml.Node, field string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == field {
			return resolveAlias(mapping.Content[i+1])
		}
	}
	return nil
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// mapping sets the fields of a mapping. The path ends with a dot; it is empty for the whole file.
func (d *configDecoder) mapping(path string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			d.fail(key, path+"…", "a key must be the name of a field, not %s", describeNode(key))
			continue
		}
		if path == "" && (key.Value == "apiVersion" || key.Value == "kind") && d.found[key.Value] == nil {
			d.found[key.Value] = key
			continue
		}
		d.field(path+key.Value, key, value)
	}
}

func (d *configDecoder) field(path string, key, value *yaml.Node) {
	if strings.Contains(key.Value, ".") {
		d.unknown(path, key)
		return
	}
	if first := d.found[path]; first != nil {
		d.fail(key, path, "is given twice, first in line %d: remove one of them", first.Line)
		return
	}
	if s, ok := d.settings[path]; ok {
		d.found[path] = key
		for _, err := range Leaves(s.Value.decode(value)) {
			if at := new(nodeError); errors.As(err, &at) {
				d.fail(at.node, path+at.field, "%s", at.reason)
				continue
			}
			d.fail(value, path, "%v", err)
		}
		return
	}
	fields := d.fields(path + ".")
	switch {
	case len(fields) == 0:
		d.unknown(path, key)
	case value.Kind == yaml.MappingNode:
		d.found[path] = key
		d.mapping(path+".", value)
	case value.ShortTag() == "!!null":
		d.found[path] = key
	default:
		d.fail(value, path, "must be a mapping, not %s: it has the fields %s", describeNode(value), strings.Join(fields, ", "))
	}
}

func (d *configDecoder) unknown(path string, key *yaml.Node) {
	section := strings.TrimSuffix(path, key.Value)
	known := d.fields(section)
	if near, ok := nearest.Of(strings.TrimPrefix(path, section), known); ok {
		d.fail(key, path, "unknown field: did you mean %s?", near)
		return
	}
	d.fail(key, path, "unknown field: use one of %s", strings.Join(known, ", "))
}

// fields returns the sorted names of the fields of a section.
func (d *configDecoder) fields(section string) []string {
	var names []string
	for path := range d.settings {
		if rest, ok := strings.CutPrefix(path, section); ok {
			field, _, _ := strings.Cut(rest, ".")
			names = append(names, field)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkSection adds the faults of a section, each at its field in the file, and returns the
// remarks.
func (d *configDecoder) checkSection(o Section) []Remark {
	paths := map[string]string{}
	for _, s := range o.Settings() {
		paths[s.Flag] = s.Path
	}
	name := func(flag string) string { return paths[flag] }
	var remarks []Remark
	for _, p := range o.validate() {
		reason := p.describe(name)
		if p.severity == remarked {
			path := paths[p.flags[0]]
			remarks = append(remarks, Remark{setting: path, value: d.settings[path].Value.String(), reason: reason, instead: p.instead})
			continue
		}
		var at []string
		for _, flag := range p.flags {
			at = append(at, paths[flag])
		}
		d.failAt(at, reason)
	}
	return remarks
}

// failAt adds a fault at the first of these settings that the file has. One exists, because the
// defaults alone are valid.
func (d *configDecoder) failAt(paths []string, reason string) {
	for _, path := range paths {
		if key := d.found[path]; key != nil {
			d.fail(key, path, "is %s: %s", quoteUnlessPlain(d.settings[path].Value.String()), reason)
			return
		}
	}
}
