package page_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// patience is the time limit of a condition on a busy machine.
const patience = 60 * time.Second

// chrome is the browser of all tests. Each test has its own context in it, with its own storage.
var chrome context.Context

func TestMain(m *testing.M) { os.Exit(withBrowser(kubetest.Wrap(m).Run)) }

func withBrowser(run func() int) int {
	binary, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "chromium is missing: dev/deps.sh installs it")
		return 1
	}
	dir, err := os.MkdirTemp("", "page-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(binary), chromedp.UserDataDir(dir), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("host-resolver-rules", "MAP rebound.example 127.0.0.1"), chromedp.Flag("disable-dev-shm-usage", true), chromedp.DisableGPU)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	ctx, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
		return 1
	}
	chrome = ctx
	return run()
}

// tab is a window of the browser, with its errors.
type tab struct {
	*testing.T
	ctx   context.Context
	url   string // of the server
	mu    sync.Mutex
	wrong []string
}

// newTab opens a window for a server at url, which must be started before: cleanup then closes the window
// first, and the page sees no broken connection. Errors of the console, violations of the policy, exceptions
// and dialogs fail the test at its end, unless the test removes them.
func newTab(t *testing.T, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, url: url}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	call(b, runtime.Enable, cdp.Empty{})
	call(b, cdplog.Enable, cdp.Empty{})
	call(b, cdppage.Enable, cdppage.EnableParams{})
	t.Cleanup(func() {
		for _, w := range b.complaints() {
			t.Errorf("the browser complains: %.500s", w)
		}
	})
	return b
}

func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
			b.note(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.note(text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.note(fmt.Sprintf("console: %v", e.Args))
		}
	case *cdppage.EventJavascriptDialogOpening:
		b.note("a dialog: " + e.Message)
		go func() {
			_, _ = chromedp.Call(b.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{})
		}()
	}
}

func (b *tab) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, text)
}

// complaints returns and removes the errors.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	wrong := b.wrong
	b.wrong = nil
	return wrong
}

// run runs steps, each with the time limit.
func (b *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	for _, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.Fatal(err)
		}
	}
}

// call sends a command to the browser.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		b.Fatal(err)
	}
	return result
}

// open opens the server's page with a hash, and waits until it has its numbers and its event stream.
func (b *tab) open(hash string) {
	b.Helper()
	b.run(chromedp.Navigate(b.url + "/" + hash))
	b.await(`document.querySelector("#live").textContent.includes("live") && document.querySelector("#panel").children.length > 0 && document.querySelector("#panel").getAttribute("aria-busy") !== "true"`)
}

// await waits until an expression is true. The page itself polls, so that its content security policy
// doesn't interfere, and a short-lived truth isn't missed as easily.
func (b *tab) await(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	look := fmt.Sprintf("new Promise((done) => { const look = () => (%s) ? done() : setTimeout(look, 30); look(); })", expression)
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](look, chromedp.EvalAwaitPromise)); err != nil {
		b.Fatalf("%s: %v; the page has:\n%.3000s\n%q", expression, err, b.text("body"), b.complaints())
	}
}

// awaitText waits until an element has a text.
func (b *tab) awaitText(selector, text string) {
	b.Helper()
	b.await(fmt.Sprintf(`(document.querySelector(%q)?.innerText ?? "").replace(/\s+/g, " ").includes(%q)`, selector, text))
}

// text returns the visible text of an element.
func (b *tab) text(selector string) string {
	b.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// click clicks the first button whose text contains this one.
func (b *tab) click(within, text string) {
	b.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q) && e.offsetParent !== null)`, within+" button", text)
	b.await("!!" + find)
	b.run(chromedp.Evaluate[chromedp.Void](find + ".click()"))
}

func eval[V any](b *tab, expression string) V {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[V](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// shot writes a screenshot to the directory in PAGE_SHOTS, if set.
func (b *tab) shot(name string) {
	b.Helper()
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}
