package sourcetest

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/source"
)

const (
	// skipLimit bounds the skips of an object, and messageLimit the bytes of a skip, because an object can
	// have thousands of names and users read this.
	skipLimit    = 64
	messageLimit = 1024
)

// checkSkips checks that an existing object without records says why, in a readable form.
func (s *Fixture) checkSkips(key source.Key, r source.Result) {
	s.t.Helper()
	if s.late != "" {
		return // The source may not know the object yet.
	}
	if len(r.Records)+len(r.Problems)+len(r.Skipped) == 0 && r.Err == nil {
		s.t.Errorf("%s gives no record and doesn't say why: return Object.Excluded if it isn't selected, or else Skipped", key)
	}
	if len(r.Skipped) > skipLimit {
		s.t.Errorf("%s has %d skips, and %d are enough: name the first ones and say how many more there are", key, len(r.Skipped), skipLimit)
	}
	for _, skip := range r.Skipped {
		switch text := skip.Subject + skip.Message; {
		case skip.Reason == "" || skip.Message == "":
			s.t.Errorf("%s has a skip without a reason or a message: %+v", key, skip)
		case len(text) > messageLimit || strings.ContainsAny(text, "\n\r\x1b"):
			s.t.Errorf("%s has a skip with a text that is too long or has line breaks: quote it with sanitize.Quote: %q", key, text)
		case strings.HasSuffix(skip.Message, "."):
			s.t.Errorf("%s has a skip that ends with a full stop: %q", key, skip.Message)
		}
	}
}

// checkKeys checks that Keys has exactly the existing objects of the source's own kinds.
func (s *Fixture) checkKeys() {
	s.t.Helper()
	if s.source.Keys == nil {
		s.t.Errorf("the source has tables and no Keys, so that nobody can ask about all its objects: set it to source.Keys(table)")
		return
	}
	if !s.backend.still() || s.late != "" {
		return
	}
	exist, known := s.backend.own(), s.source.Keys()
	for _, key := range exist {
		if !slices.Contains(known, key) {
			s.t.Errorf("%s %s exists, and Keys doesn't have it", key.Kind, key)
		}
	}
	for _, key := range known {
		if !slices.Contains(exist, key) {
			s.t.Errorf("Keys has %s %s, which doesn't exist", key.Kind, key)
		}
	}
}
