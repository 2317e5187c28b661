package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/internal/nearest"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// remarkLimit limits the remarks about annotations of an object.
	remarkLimit = 8
	// nameLimit is Kubernetes' limit of an annotation's name, without its prefix, in bytes.
	nameLimit = 63
)

// annotationReader describes the source that reads annotations. Without it, keys get no remarks.
type annotationReader struct {
	source string
	names  []string
	// suffix is empty, or names objects other than the source's own, such as " on Gateways".
	suffix string
	// properties is true if the source reads annotations for providers.
	properties bool
}

// For returns the settings for a source. Its objects get remarks about annotations that it doesn't
// read.
func (s Settings) For(p Plugin) Settings {
	if s.reader = nil; len(p.Annotations) == 0 {
		return s // Annotations have no meaning there.
	}
	s.reader = &annotationReader{source: p.Name, names: p.AnnotationNames(), properties: p.Properties}
	return s
}

// ForOthers returns the settings for objects that a source depends on, such as "Gateways", and
// whose annotations with the given names it reads.
func (s Settings) ForOthers(source, objects string, names ...string) Settings {
	s.reader = &annotationReader{source: source, names: names, suffix: " on " + objects}
	return s
}

// Open opens a source of this kind.
func (p Plugin) Open(config Config, in Input) (Source, error) {
	in.Plugin = p
	return config.Open(in)
}

func (r *Annotations) remark(s Skip) {
	if r.hasRoom(s.Reason) {
		r.Remarks = append(r.Remarks, s)
	}
}

// hasRoom reports whether another remark can be added. The first one without room is replaced by a
// remark that there are more. Callers ask before they compare a key with known names, because an
// object may have thousands of keys.
func (r *Annotations) hasRoom(reason SkipReason) bool {
	if len(r.Remarks) == remarkLimit {
		r.Remarks = append(r.Remarks, Skip{reason, "", "more annotations than these can't be used as they are: correct these first"})
	}
	return len(r.Remarks) < remarkLimit
}

// remarkSpaces remarks that spaces inside of names are removed, as in ExternalDNS, because they look like
// separators.
func (r *Annotations) remarkSpaces(a annotation) {
	for element := range strings.SplitSeq(a.value, ",") {
		if element = strings.Trim(element, " "); strings.Contains(element, " ") {
			r.remark(Skip{SkipSpaces, a.key, fmt.Sprintf("the spaces in %s are left out, which makes it %s: put commas between names",
				sanitize.Quote(element), sanitize.Quote(strings.ReplaceAll(element, " ", "")))})
			return
		}
	}
}

// remarkKey remarks on one of our annotations that the source doesn't read.
func (r *Annotations) remarkKey(a annotation, s *Settings) {
	if s.reader == nil || slices.Contains(s.reader.names, a.name) {
		return
	}
	if _, ok := s.Declared.Property(a.name); ok {
		if !s.reader.properties {
			r.remark(Skip{SkipUnreadAnnotation, keyText(a.key), "it is for providers, and the source " + s.reader.source + " reads no such annotation" + s.reader.suffix + ": remove it"})
		}
		return
	}
	if kindOfAnnotation(a.name) != nil {
		r.remark(Skip{SkipUnreadAnnotation, keyText(a.key), "the source " + s.reader.source + " does not read this annotation" + s.reader.suffix + ": remove it, or see which objects it is for"})
		return
	}
	if r.hasRoom(SkipUnknownAnnotation) {
		r.remark(Skip{SkipUnknownAnnotation, keyText(a.key), "nothing reads this annotation: " + suggestion(a.name, s)})
	}
}

// remarkUnknownPrefix remarks on an annotation whose prefix is nearly one of ours.
func (r *Annotations) remarkUnknownPrefix(key string, s *Settings) {
	if !r.hasRoom(SkipUnknownAnnotation) {
		return
	}
	prefix, name, _ := strings.Cut(key, "/")
	meant := strings.Join(s.Prefixes, " or ")
	if slices.Contains(DefaultPrefixes, prefix+"/") {
		r.remark(Skip{SkipUnknownAnnotation, key, "its prefix is not among those of --annotation-prefix: begin the key with " + meant})
		return
	}
	if near, ok := nearest.Of(bounded(prefix+"/"), s.Prefixes); ok {
		meant = near
	}
	r.remark(Skip{SkipUnknownAnnotation, keyText(key), "nothing reads annotations that begin like this: did you mean " + meant + s.nearestName(name) + "?"})
}

// suggestion returns the advice for an annotation that nothing reads.
func suggestion(name string, s *Settings) string {
	if near := s.nearestName(name); near != "" {
		return "did you mean " + near + "?"
	}
	return "remove it, or see the reference of annotations"
}

// nearestName returns the annotation that was probably meant, or "".
func (s *Settings) nearestName(name string) string {
	near, _ := nearest.Of(bounded(name), s.knownNames())
	return near
}

// knownNames returns the annotations that the source reads.
func (s *Settings) knownNames() []string {
	var names []string
	if s.reader != nil {
		names = append(names, s.reader.names...)
		if !s.reader.properties {
			return names
		}
	}
	for _, declared := range s.Declared {
		for _, a := range declared.Annotations {
			if !strings.HasSuffix(a.Name, "*") {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// bounded cuts a text to be compared, because the comparison takes time for each pair of bytes.
func bounded(text string) string { return text[:min(len(text), nameLimit)] }

// ambassadorKey is an annotation of ExternalDNS without our prefix.
const ambassadorKey = "external-dns.ambassador-service"

// resemblesPrefix reports whether the prefix of a key resembles one of ours.
func resemblesPrefix(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return (strings.Contains(prefix, "external-dns") || strings.Contains(prefix, "externaldns")) && key != ambassadorKey
}

// keyText returns the key of an annotation, quoted and cut if Kubernetes allows no such keys.
func keyText(key string) string {
	prefix, name, _ := strings.Cut(key, "/")
	if sanitize.Name(prefix) == prefix && (name == "" || sanitize.Name(name) == name) {
		return key
	}
	return sanitize.Quote(key)
}
