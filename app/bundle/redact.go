package bundle

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// minSecret is the minimum length of a secret that is masked everywhere, because shorter ones are
// parts of words.
const minSecret = 6

// masks replaces known secrets.
type masks struct{ values [][]byte }

// newMasks collects the secrets in the arguments and variables of pods: the values of flags that
// are secret or whose name says so, and the values of all variables except those known to be
// harmless.
func newMasks(flags []string, pods []*corev1.Pod) *masks {
	m := &masks{}
	for _, pod := range pods {
		for _, c := range containers(pod) {
			for _, value := range secretArguments(slices.Concat(c.Command, c.Args), flags) {
				m.add(value)
			}
			for _, v := range c.Env {
				if !isHarmlessVariable(v.Name, flags) {
					m.add(v.Value)
				}
			}
		}
	}
	// Longest first, because one may be a part of another.
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// add adds a secret, unescaped and as escaped in JSON, with and without escapes of HTML characters.
func (m *masks) add(value string) {
	if len(value) < minSecret {
		return
	}
	m.values = append(m.values, []byte(value))
	for _, escapeHTML := range []bool{true, false} {
		var quoted bytes.Buffer
		e := json.NewEncoder(&quoted)
		e.SetEscapeHTML(escapeHTML)
		// A text can always be encoded.
		_ = e.Encode(value)
		text := bytes.TrimSpace(quoted.Bytes())
		if inner := text[1 : len(text)-1]; string(inner) != value {
			m.values = append(m.values, inner)
		}
	}
}

// harmlessVariable matches variables whose values are no secrets. Masking them would hide pod names
// and paths in all files.
var harmlessVariable = regexp.MustCompile(`^(?:KUBERNETES_.*|(?:POD|NODE|HOST|CLUSTER|CONTAINER)_?(?:NAME|NAMESPACE|IP|IPS|UID)?|HOSTNAME|NAMESPACE|SERVICE_ACCOUNT(?:_NAME)?|` +
	`GO[A-Z]+|PATH|HOME|USER|SHELL|PWD|TERM|TMPDIR|TZ|LANG|LC_.*|SSL_CERT_(?:DIR|FILE)|LOG_(?:LEVEL|FORMAT)|AWS_(?:DEFAULT_)?REGION|AWS_ROLE_ARN|AWS_PROFILE|.*_FILE|.*_PATH|.*_DIR)$`)

// isHarmlessVariable reports whether a variable is known not to be secret. Variables of ExternalDNS
// are flags.
func isHarmlessVariable(name string, flags []string) bool {
	if strings.HasPrefix(name, "EXTERNAL_DNS_") {
		return !isSecret(name, flags)
	}
	return harmlessVariable.MatchString(name)
}

// isSecret reports whether a flag or a variable is secret. Names of files aren't.
func isSecret(name string, flags []string) bool {
	flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "EXTERNAL_DNS_"), "_", "-"))
	if strings.HasSuffix(flag, "-file") {
		return false
	}
	return slices.Contains(flags, flag) || secretName.MatchString(name)
}

// secretArguments returns the values of secret flags.
func secretArguments(arguments, flags []string) []string {
	var values []string
	for i, argument := range arguments {
		name, value, with := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		switch {
		case !strings.HasPrefix(argument, "-") || !isSecret(name, flags):
		case with:
			values = append(values, value)
		case i+1 < len(arguments):
			values = append(values, arguments[i+1])
		}
	}
	return values
}

// mask returns the text with the secrets of the pods, and text that looks like a secret, masked.
func (m *masks) mask(text []byte) []byte {
	for _, value := range m.values {
		text = bytes.ReplaceAll(text, value, []byte(mask))
	}
	return maskForms(text)
}

func containers(pod *corev1.Pod) []corev1.Container {
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range pod.Spec.EphemeralContainers {
		all = append(all, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return all
}

// masked returns a pod without the values of variables, and without annotations, which may repeat
// them. Arguments are masked in the text.
func masked(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ManagedFields, pod.Annotations = nil, nil
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			maskVariables(list[i].Env)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		maskVariables(pod.Spec.EphemeralContainers[i].Env)
	}
	return pod
}

func maskVariables(variables []corev1.EnvVar) {
	for i := range variables {
		if variables[i].Value != "" {
			variables[i].Value = mask
		}
	}
}
