package libdns

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxPages limits the requests of one listing.
const maxPages = 5000

// listingLimit limits the responses of one listing. Most modules request pages until the server
// sends no further one.
type listingLimit struct {
	mu sync.Mutex
	// left is the remaining memory for responses in bytes, and limit the initial one.
	left  int64
	limit int
	// seen has the requested URLs.
	seen map[string]bool
}

// begin is called with each successful response. If its body is too large, reading it fails, and
// stop is called with the error.
func (l *listingLimit) begin(req *http.Request, resp *http.Response, stop func(error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	page := req.URL.String()
	if req.Method == http.MethodGet && l.seen[page] {
		return fmt.Errorf("%w: the server's list has no end: the page %s comes again, after %d pages", listlimit.ErrExceeded, sanitize.Quote(req.URL.RequestURI()), len(l.seen))
	}
	if l.seen[page] = true; len(l.seen) > maxPages {
		return fmt.Errorf("%w: the server's list has no end: it has more than %d pages", listlimit.ErrExceeded, maxPages)
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, listingLimit: l, stop: stop}
	return nil
}

// limitedBody is the body of a response, counted by a listingLimit.
type limitedBody struct {
	io.ReadCloser
	listingLimit *listingLimit
	stop         func(error)
}

// Read implements [io.Reader].
func (b *limitedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if !b.listingLimit.reserve(httpapi.DecodedSize(into[:n])) {
		err := fmt.Errorf("%w: the responses of the server would need more than %d bytes of memory: if that is right, raise --max-zone-records and the memory limit of the pod", listlimit.ErrExceeded, b.listingLimit.limit)
		b.stop(err)
		return 0, err
	}
	return n, err
}

// reserve reserves bytes, and reports whether as many were left.
func (l *listingLimit) reserve(bytes int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left -= bytes
	return l.left >= 0
}
