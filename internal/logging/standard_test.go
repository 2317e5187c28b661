package logging_test

import (
	"bytes"
	"fmt"
	"io"
	standard "log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/internal/logging"
)

// lines is an output of a log, which passes each line to the test.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// routed redirects the logs of libraries to a writer.
func routed(t *testing.T, w io.Writer) {
	t.Helper()
	if err := logging.RouteLibraries(logging.New(logging.Config{Output: w}), slog.LevelInfo); err != nil {
		t.Fatal(err)
	}
}

// unsolicited responds to one request on each connection, and then sends an unsolicited text.
func unsolicited(t *testing.T, l net.Listener, text string) {
	t.Helper()
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"+text)
			_, _ = io.Copy(io.Discard, c) // until the client has closed the connection
			_ = c.Close()
		}
	}()
}

// Unsolicited data from a server stays out of the log. Users who could choose the server could read it there
// (M10).
func TestM10UnsolicitedResponsesStayOutOfTheLog(t *testing.T) {
	log := make(lines, 10)
	routed(t, log)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unsolicited(t, l, `SECRET "of" somebody`)
	client := http.Client{Transport: &http.Transport{}}
	answer, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	want := `time=T level=warn msg="Go library" text="Unsolicited response received on idle HTTP channel starting with …; err=<nil>"` + "\n"
	if diff := cmp.Diff(want, withoutTime(<-log)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestLoggedPart(t *testing.T) {
	for line, want := range map[string]string{
		"http2: header list too large":                 `text="http2: header list too large"`,
		`a "b\"c" d "e" f`:                             `text="a … f"`,
		`cut off in "the middle`:                       `text="cut off in …"`,
		"text that isn't \xff UTF-8\nand another line": `text="text that isn't … UTF-8\nand another line"`,
		strings.Repeat("a", 1000):                      `text=` + strings.Repeat("a", 300) + "…",
	} {
		var out bytes.Buffer
		routed(t, &out)
		standard.Print(line)
		if got := withoutTime(out.String()); got != `time=T level=warn msg="Go library" `+want+"\n" {
			t.Errorf("the logged part of %q is %s", line, got)
		}
	}
}

// A server with many connections can't fill the log (M10).
func TestM10LinesOfLibrariesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		routed(t, &out)
		for i := range 1000 {
			standard.Printf("line %d", i)
		}
		time.Sleep(time.Minute)
		standard.Print("later")
		var want strings.Builder
		for i := range 5 {
			fmt.Fprintf(&want, "time=T level=warn msg=\"Go library\" text=\"line %d\"\n", i)
		}
		want.WriteString("time=T level=warn msg=\"Go library\" text=later left_out=995\n")
		if diff := cmp.Diff(want.String(), withoutTime(out.String())); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
