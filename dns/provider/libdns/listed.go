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

// maxPages is how many requests one listing may need: those for the pages of a zone.
const maxPages = 5000

// listed limits the answers to the requests of one listing. Modules ask for one page after the
// other, and most of them for as many as the server likes.
type listed struct {
	mu sync.Mutex
	// left is how many bytes of memory the answers may still need, of limit.
	left  int64
	limit int
	// seen has the URLs that were answered.
	seen map[string]bool
}

// begin is called with each answer that is a success. Its body then fails when it is too large,
// and stop is told why.
func (l *listed) begin(req *http.Request, resp *http.Response, stop func(error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	page := req.URL.String()
	if req.Method == http.MethodGet && l.seen[page] {
		return fmt.Errorf("%w: the server's list has no end: the page %s comes again, after %d pages", listlimit.ErrExceeded, sanitize.Quote(req.URL.RequestURI()), len(l.seen))
	}
	if l.seen[page] = true; len(l.seen) > maxPages {
		return fmt.Errorf("%w: the server's list has no end: it has more than %d pages", listlimit.ErrExceeded, maxPages)
	}
	resp.Body = &listedBody{ReadCloser: resp.Body, listed: l, stop: stop}
	return nil
}

// listedBody is the body of an answer.
type listedBody struct {
	io.ReadCloser
	listed *listed
	stop   func(error)
}

// Read implements [io.Reader].
func (b *listedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if !b.listed.take(httpapi.DecodedSize(into[:n])) {
		err := fmt.Errorf("%w: the answers of the server would need more than %d bytes of memory: if that is right, raise --max-zone-records and the memory limit of the pod", listlimit.ErrExceeded, b.listed.limit)
		b.stop(err)
		return 0, err
	}
	return n, err
}

// take takes bytes from those that are left, and reports whether there were as many.
func (l *listed) take(bytes int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left -= bytes
	return l.left >= 0
}
