package ask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/settings"
)

// approvalLimit is the most bytes of an answer that are read.
const approvalLimit = 1 << 20

// ApproveOptions are the argument and the flags of `signpost approve`.
type ApproveOptions struct {
	Hash    string
	Except  []string
	Addr    string
	Timeout time.Duration
}

// Approve has the signpost that leads make the changes of a plan that it holds, and prints to out
// what was approved.
func Approve(ctx context.Context, o ApproveOptions, out io.Writer) error {
	switch {
	case o.Timeout <= 0:
		return settings.Usagef("--timeout=%v: must be more than 0s", o.Timeout)
	case !inspect.ValidHash(o.Hash):
		return settings.Usagef("%q is no hash of a plan: it has 16 digits or letters from a to f, and is in the log, in the Event and in the answer of %s", o.Hash, inspect.PlanPath)
	case len(o.Except) > inspect.MaxExcept:
		return settings.Usagef("--except is given %d times: at most %d names can be left out; give the rest of the plan an object that asks for it", len(o.Except), inspect.MaxExcept)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	approval, err := o.post(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, approvalText(approval))
	return err
}

func (o ApproveOptions) post(ctx context.Context) (inspect.Approval, error) {
	var approval inspect.Approval
	body, err := json.Marshal(inspect.ApproveRequest{Except: o.Except})
	if err != nil {
		return approval, fmt.Errorf("approve the plan %s: %w", o.Hash, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+o.Addr+inspect.ApprovePath(o.Hash), bytes.NewReader(body))
	if err != nil {
		return approval, settings.Usagef("--addr=%s: %w", o.Addr, err)
	}
	request.Header.Set("Content-Type", "application/json")
	// The connection goes to the server directly and is of no use afterwards. An answer elsewhere
	// would be that of somebody else.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return approval, fmt.Errorf("approve the plan %s: %w: give the address of the admin server of the leader with --addr", o.Hash, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, approvalLimit))
	if err != nil {
		return approval, fmt.Errorf("approve the plan %s: read the answer of %s: %w: the plan may be approved", o.Hash, o.Addr, err)
	}
	if response.StatusCode != http.StatusOK {
		return approval, o.refusal(response, text)
	}
	if err := json.Unmarshal(text, &approval); err != nil {
		return approval, fmt.Errorf("approve the plan %s: read the answer of %s: %w: is that the admin server of a signpost of this version?", o.Hash, o.Addr, err)
	}
	return approval, nil
}

// refusal returns the error of an answer that approves nothing.
func (o ApproveOptions) refusal(response *http.Response, text []byte) error {
	var failure inspect.Failure
	if err := json.Unmarshal(text, &failure); err != nil || failure.Error == "" {
		return fmt.Errorf("approve the plan %s: %s answers %s: give the address of the admin server of a signpost with the role dns", o.Hash, o.Addr, response.Status)
	}
	return fmt.Errorf("approve the plan %s: %s", o.Hash, failure.Error)
}

// approvalText says what was approved. A zone may have any name.
func approvalText(a inspect.Approval) string {
	var where string
	if a.Publisher != "" {
		where = fmt.Sprintf(" of the publisher %q", a.Publisher)
	}
	text := fmt.Sprintf("approved in the zone %s%s: deletions %d, updates %d\n", cmp.Or(strings.Join(strings.Fields(a.Zone), " "), "."), where, a.Deletions, a.Updates)
	if a.Excepted > 0 {
		text += fmt.Sprintf("left out, and still held under another hash: %d\n", a.Excepted)
	}
	return text + fmt.Sprintf("good until %s for what can't be made at once\n", a.Until.UTC().Format(time.RFC3339))
}
