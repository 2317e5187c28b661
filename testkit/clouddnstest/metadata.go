package clouddnstest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/signpostd/signpost/testkit/apitest"
)

const (
	metadataPath   = "/computeMetadata/v1/"
	metadataHeader = "Metadata-Flavor"
)

// serveMetadata is the metadata server of a machine whose service account may use the API
// (compute/docs/metadata/overview).
func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(metadataHeader, "Google")
	if r.Header.Get(metadataHeader) != "Google" || r.Method != http.MethodGet {
		http.Error(w, "Missing Metadata-Flavor:Google header.", http.StatusForbidden)
		return
	}
	text := ""
	switch strings.TrimPrefix(r.URL.Path, metadataPath) {
	case "project/project-id":
		text = Project
	case "universe/universe-domain":
		text = "googleapis.com"
	case "instance/service-accounts/default/token":
		if scopes := r.URL.Query().Get("scopes"); !slices.Contains(strings.Split(scopes, ","), Scope) {
			http.Error(w, "scope "+scopes, http.StatusBadRequest)
			return
		}
		apitest.WriteJSON(w, http.StatusOK, contentType, s.issue())
		return
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/text")
	// A write error means that the client has disconnected.
	_, _ = w.Write([]byte(text))
}
