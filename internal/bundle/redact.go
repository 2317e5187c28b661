package bundle

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// mask stands for a secret.
const mask = "***"

// shortest is the least number of bytes of a secret that is looked for everywhere: shorter ones are
// parts of words.
const shortest = 6

// secretName is what names of secrets have in them.
var secretName = regexp.MustCompile(`(?i)secret|token|passw|api-?_?key|aes-?_?key|credential|private-?_?key|access-?_?key`)

// secretTexts are forms of text that are secrets, whatever they are for. In those with a group, only the
// rest after it is masked.
var secretTexts = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`((?i:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`((?i:secret|password|passwd|api[-_]?key|aes[-_]?key|access[-_]?key|[a-z-]*token|credentials?)["']?\s*[:=]\s*["']?)[^\s"',}]{6,}`),
	regexp.MustCompile(`([a-z]+://[^\s/:@]*:)[^\s/@]+@`),
}

// masks replaces secrets.
type masks struct{ values [][]byte }

// newMasks finds the secrets that pods have in their arguments and variables: those of flags that are
// known to have one, and those whose name says it.
func newMasks(flags []string, pods []*corev1.Pod) *masks {
	m := &masks{}
	for _, pod := range pods {
		for _, c := range containers(pod) {
			for _, value := range secretArguments(slices.Concat(c.Command, c.Args), flags) {
				m.add(value)
			}
			for _, v := range c.Env {
				if isSecret(v.Name, flags) {
					m.add(v.Value)
				}
			}
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

func (m *masks) add(value string) {
	if len(value) >= shortest {
		m.values = append(m.values, []byte(value))
	}
}

// isSecret reports whether a flag or a variable has a secret. Names of files don't.
func isSecret(name string, flags []string) bool {
	flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "EXTERNAL_DNS_"), "_", "-"))
	if strings.HasSuffix(flag, "-file") {
		return false
	}
	return slices.Contains(flags, flag) || secretName.MatchString(name)
}

// secretArguments returns the values of flags with secrets.
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

// mask returns the text without secrets.
func (m *masks) mask(text []byte) []byte {
	for _, value := range m.values {
		text = bytes.ReplaceAll(text, value, []byte(mask))
	}
	for _, form := range secretTexts {
		with := mask
		if form.NumSubexp() > 0 {
			with = "${1}" + mask
		}
		if form == secretTexts[len(secretTexts)-1] {
			with += "@"
		}
		text = form.ReplaceAll(text, []byte(with))
	}
	return text
}

func containers(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

// masked returns a pod without the values of variables, without arguments that are secrets, and
// without annotations, which may repeat all of these.
func masked(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ManagedFields, pod.Annotations = nil, nil
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			for j := range list[i].Env {
				if list[i].Env[j].Value != "" {
					list[i].Env[j].Value = mask
				}
			}
		}
	}
	return pod
}
