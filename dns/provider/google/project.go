package google

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"cloud.google.com/go/compute/metadata"

	"github.com/signpostd/signpost/internal/sanitize"
)

// project is the project with the zones.
type project struct {
	mu sync.Mutex
	// id is empty until it is known.
	id string
}

// find returns the ID of the project. It asks the metadata server until that responds, because right after
// the start of a pod the server may be unreachable.
func (p *project) find(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id != "" {
		return p.id, nil
	}
	// The metadata client uses no proxy, and has its own timeout.
	id, err := metadata.NewClient(nil).GetWithContext(ctx, "project/project-id")
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("ask the metadata server for the project: %s: give --google-project", sanitize.Quote(err.Error()))
	}
	if p.id = strings.TrimSpace(id); p.id == "" {
		return "", fmt.Errorf("the metadata server knows no project: give --google-project")
	}
	return p.id, nil
}
