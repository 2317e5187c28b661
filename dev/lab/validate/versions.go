package validate

import (
	"encoding/json"
	"fmt"

	"github.com/signpostd/signpost/dev/lab/history"
)

// firstSeen is where a version or content was seen first.
type firstSeen struct{ replica, other string }

// checkVersions is V10. Versions must mean the same in all replicas, because a delta client that moves to
// another replica sends its versions and receives only the differences (docs/spec/xds.md §6.5).
func checkVersions(h history.History) []Finding {
	var findings []Finding
	versions, contents := map[[2]string]firstSeen{}, map[[2]string]firstSeen{}
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Stream == nil || e.Stream.Event != history.StreamUpdated || !ofXDS(e.Stream.Call) {
			continue
		}
		content, version := contentOf(e.Stream), e.Stream.Version
		ofContent, ofVersion := [2]string{e.Stream.Target, content}, [2]string{e.Stream.Target, version}
		earlier, known := versions[ofContent]
		other, used := contents[ofVersion]
		switch {
		case version == "":
			findings = append(findings, Finding{"V10", e.At, subjectOfEvent(e.Stream), "a ClusterLoadAssignment has no version"})
		case known && earlier.other != version:
			findings = append(findings, Finding{"V10", e.At, subjectOfEvent(e.Stream), fmt.Sprintf("the version is %s, and %s gave the same endpoints the version %s", version, earlier.replica, earlier.other)})
		case used && other.other != content:
			findings = append(findings, Finding{"V10", e.At, subjectOfEvent(e.Stream), fmt.Sprintf("the version %s was that of other endpoints in %s", version, other.replica)})
		}
		if !known {
			versions[ofContent] = firstSeen{e.Stream.Replica, version}
		}
		if !used {
			contents[ofVersion] = firstSeen{e.Stream.Replica, content}
		}
	}
	return findings
}

// contentOf returns the same text for the same endpoints.
func contentOf(s *history.Stream) string {
	text, err := json.Marshal(s.Addresses) // keys are sorted
	if err != nil {                        // can't fail for a map of strings
		panic(fmt.Sprintf("write addresses as JSON: %v", err))
	}
	return string(text)
}

func subjectOfEvent(s *history.Stream) string {
	return (&stream{id: s.ID, replica: s.Replica, call: s.Call, target: s.Target}).subject()
}
