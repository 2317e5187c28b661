package installation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// placeholder stands for a secret that can't be read. It is valid base64, as TSIG keys are.
const placeholder = "c2lnbnBvc3Q="

// Lookup returns the value of ${NAME} or of a file with a secret. known is false if the decoder
// reads the reference itself. The error says why the value can't be read.
type Lookup func(reference string) (value string, known bool, err error)

// Local is the [Lookup] of this machine: only a variable or a file that is missing here is unknown.
func Local(reference string) (string, bool, error) {
	if name, ok := settings.Variable(reference); ok {
		if _, set := os.LookupEnv(name); set {
			return "", false, nil
		}
		return "", true, fmt.Errorf("the environment variable %s is not set here", sanitize.Name(name))
	}
	if _, err := os.Stat(reference); err == nil || !os.IsNotExist(err) {
		return "", false, nil
	}
	return "", true, fmt.Errorf("the file %s does not exist here", sanitize.Name(reference))
}

// References returns the references of the config file that remain after [Resolve]: the variables
// of the Deployment. Variables and files of this machine must not be used, because anybody who may
// create a Deployment in some namespace writes its config file, and names the servers that get the
// secrets.
func (i Installation) References() settings.References {
	return settings.References{
		Variable: func(name string) (string, bool) { value, set := i.variables[name]; return value, set },
		SecretFile: func(string) (string, error) {
			return "", errors.New("files of the pod are not read on this machine: write the path in one line and without escapes, so that its Secret is found")
		},
	}
}

// Secrets returns the [Lookup] that reads the Secrets of the installation with a client, which is
// nil if the API server can't be reached. It knows every reference, as [Installation.References] says.
func (i Installation) Secrets(ctx context.Context, client kubernetes.Interface) Lookup {
	return func(reference string) (string, bool, error) {
		key, ok := i.secrets[reference]
		if !ok {
			return i.withoutSecret(reference)
		}
		name := fmt.Sprintf("the key %s of the Secret %s/%s", sanitize.Name(key.Key), sanitize.Name(i.Deployment.Namespace), sanitize.Name(key.Name))
		if client == nil {
			return "", true, fmt.Errorf("%s can't be read without the API server", name)
		}
		secret, err := client.CoreV1().Secrets(i.Deployment.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return "", true, fmt.Errorf("%s is missing: there is no such Secret", name)
		case apierrors.IsForbidden(err):
			return "", true, fmt.Errorf("you may not read %s", name)
		case err != nil:
			return "", true, fmt.Errorf("read %s: %w", name, err)
		}
		value, ok := secret.Data[key.Key]
		if !ok {
			return "", true, fmt.Errorf("%s is missing: the Secret has no such key", name)
		}
		return strings.TrimRight(string(value), "\r\n"), true, nil
	}
}

// withoutSecret returns the error of a reference to no Secret of the Deployment.
func (i Installation) withoutSecret(reference string) (string, bool, error) {
	name, isVariable := settings.Variable(reference)
	if value, set := i.variables[name]; isVariable && set {
		return value, true, nil
	}
	if isVariable {
		return "", true, fmt.Errorf("the Deployment sets no variable %s, or not from a key of a Secret", sanitize.Name(name))
	}
	return "", true, fmt.Errorf("the Deployment mounts no Secret as the file %s", sanitize.Text(reference))
}

// edit replaces a part of a line.
type edit struct {
	line, column int // from 1
	old, new     string
}

// Resolve replaces the references of a config file by the values that lookup returns. It also
// returns the publishers that lack a value, by their index. Lines keep their numbers, so that
// faults of the result have the lines of the file. A text that isn't YAML is returned unchanged.
func Resolve(text []byte, lookup Lookup) (resolved []byte, missing map[int]error) {
	missing = map[int]error{}
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
		return text, missing
	}
	publishers := field(field(root.Content[0], "dns"), "publishers")
	if publishers == nil || publishers.Kind != yaml.SequenceNode {
		return text, missing
	}
	var edits []edit
	for index, p := range publishers.Content {
		if p.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(p.Content); i += 2 {
			found, err := resolveField(p.Content[i], p.Content[i+1], lookup)
			edits = append(edits, found...)
			if err != nil && missing[index] == nil {
				missing[index] = err
			}
		}
	}
	return apply(text, edits), missing
}

// resolveField returns the edits that replace the reference of a field by its value. Only secrets
// get a placeholder: another field without its variable is a fault of the file.
func resolveField(key, value *yaml.Node, lookup Lookup) ([]edit, error) {
	secret, isFile := secretOfFile(key.Value)
	_, isVariable := settings.Variable(value.Value)
	if value.Kind != yaml.ScalarNode || !isFile && (!isVariable || !isSecret(key.Value)) {
		return nil, nil
	}
	content, known, err := lookup(value.Value)
	if !known {
		return nil, nil
	}
	if err != nil {
		content = placeholder
	}
	edits := []edit{{value.Line, value.Column, value.Value, strconv.Quote(content)}}
	if isFile {
		edits = append(edits, edit{key.Line, key.Column, key.Value, secret})
	}
	return edits, err
}

// publisherFlags are the flags that are fields of a publisher.
var publisherFlags = sync.OnceValue(func() *pflag.FlagSet {
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	configure.NewForFile().Flags(flags)
	return flags
})

func isSecret(field string) bool {
	f := publisherFlags().Lookup(field)
	return f != nil && provider.IsSecret(f)
}

// secretOfFile returns the field that a file field, such as rfc2136-tsig-secret-file, stands for.
func secretOfFile(field string) (secret string, ok bool) {
	secret, ok = configure.SecretOfFile(field)
	return secret, ok && isSecret(secret)
}

// apply makes the edits of a text. An old value may be in quotes.
func apply(text []byte, edits []edit) []byte {
	lines := bytes.Split(text, []byte("\n"))
	slices.SortStableFunc(edits, func(a, b edit) int { return b.column - a.column }) // later columns first
	for _, e := range edits {
		if e.line > len(lines) {
			continue
		}
		runes := []rune(string(lines[e.line-1]))
		if e.column > len(runes) {
			continue
		}
		before, rest := string(runes[:e.column-1]), string(runes[e.column-1:])
		for _, old := range []string{strconv.Quote(e.old), "'" + e.old + "'", e.old} {
			if after, ok := strings.CutPrefix(rest, old); ok {
				lines[e.line-1] = []byte(before + e.new + after)
				break
			}
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// field returns the value of a field of a mapping, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
