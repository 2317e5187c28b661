package libdns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
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

// begin is called with each successful response. A response without a list is an error. If its body is too
// large, reading it fails, and stop is called with the error.
func (l *listingLimit) begin(req *http.Request, resp *http.Response, stop func(error)) error {
	if err := l.count(req); err != nil {
		return err
	}
	buffered := bufio.NewReader(resp.Body)
	// After an error of reading, the module gets what was read, and the error.
	if start, err := buffered.Peek(maxBlank + 1); errors.Is(err, io.EOF) && slices.Contains(noLists, strings.TrimSpace(string(start))) {
		return httpapi.Incomplete("the response", "list", "that of the module")
	}
	resp.Body = &limitedBody{Reader: buffered, Closer: resp.Body, listingLimit: l, stop: stop}
	return nil
}

// count counts a requested page. A page that comes again and too many pages are errors.
func (l *listingLimit) count(req *http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	page := req.URL.String()
	if req.Method == http.MethodGet && l.seen[page] {
		return fmt.Errorf("%w: the server's list has no end: the page %s comes again, after %d pages", listlimit.ErrExceeded, sanitize.Quote(req.URL.RequestURI()), len(l.seen))
	}
	if l.seen[page] = true; len(l.seen) > maxPages {
		return fmt.Errorf("%w: the server's list has no end: it has more than %d pages", listlimit.ErrExceeded, maxPages)
	}
	return nil
}

// noLists are bodies of successful responses that have no list. Some modules take them for empty lists, and
// no service sends them in a listing. maxBlank is the longest body, with white space, that is compared.
var noLists = []string{"", "{}", "null"}

const maxBlank = 64

// limitedBody is the body of a response, counted by a listingLimit.
type limitedBody struct {
	io.Reader
	io.Closer
	listingLimit *listingLimit
	stop         func(error)
}

// Read implements [io.Reader].
func (b *limitedBody) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
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
