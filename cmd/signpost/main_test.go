package main

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/internal/golden"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("SIGNPOST_TEST_AS_COMMAND") != "" {
		main()
	}
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("../../deploy/crds")),
		// A closed connection waits for its streams, whose other ends are in this process.
		goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

// runCommand returns the exit code, standard output and standard error.
func runCommand(ctx context.Context, args ...string) (int, string, string) {
	var out, err bytes.Buffer
	code := executeAs(ctx, signpostProgram, args, streams{out: &out, err: &err})
	return code, out.String(), err.String()
}

func TestExecute(t *testing.T) {
	tests := map[string]struct {
		args string // separated by spaces
		code int
		// out and err must be the last lines; err has no prefix.
		out, err string
	}{
		"nothing":                  {code: 2, err: "no command given: use one of those above"},
		"unknown command":          {args: "xyz", code: 2, err: `unknown command "xyz": use one of approve, bundle, check, clusters, completion, config, controllers, destination, dns, explain, get, history, now, plan, problems, profile, rbac, records, run, services, status, streams, version, xds`},
		"start of a command":       {args: "dest", code: 2, err: `unknown command "dest": did you mean "destination"?`},
		"nearly a command":         {args: "destinatoin", code: 2, err: `unknown command "destinatoin": did you mean "destination"?`},
		"swapped letters":          {args: "nwo", code: 2, err: `unknown command "nwo": did you mean "now"?`},
		"history of two hours":     {args: "history --since=2h", code: 2, err: "--since=2h0m0s: must be from 1s to 1h, because changes are kept for an hour"},
		"history of nothing":       {args: "history --limit=0", code: 2, err: "--limit=0: must be from 1 to 500"},
		"history of two":           {args: "history web.shop www.example.org", code: 2, err: `unexpected argument "www.example.org": history takes one subject`},
		"version":                  {args: "version", out: "dev"},
		"version of a format":      {args: "version -o xml", code: 2, err: "--output=xml: must be one of table, wide, json, yaml, name, text, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…"},
		"help":                     {args: "--help", out: `Use "signpost [command] --help" for more information about a command.`},
		"drop-in version":          {args: "destination -version", out: "dev"},
		"drop-in version, equals":  {args: "destination --version=true", out: "dev"},
		"drop-in help":             {args: "destination -h", out: `  -h, --help   help for destination`},
		"unknown flag":             {args: "destination -enable-ipv5=true", code: 2, err: "unknown flag --enable-ipv5: did you mean --enable-ipv6?"},
		"unknown far-off flag":     {args: "destination --xyz", code: 2, err: `unknown flag --xyz: see "signpost destination --help"`},
		"unknown letter":           {args: "get -q", code: 2, err: `unknown flag -q: see "signpost get --help"`},
		"bad bool":                 {args: "destination -enable-ipv6=maybe", code: 2, err: "--enable-ipv6=maybe: must be true or false"},
		"bool before its value":    {args: "destination -enable-ipv6 false", code: 2, err: `unexpected argument "false": "signpost destination" takes flags only; give a boolean flag its value with an equals sign, as in --flag=false`},
		"bad number":               {args: "destination -stream-queue-capacity many", code: 2, err: "--stream-queue-capacity=many: must be a whole number"},
		"negative number":          {args: "destination -stream-queue-capacity -1", code: 2, err: "--stream-queue-capacity=-1: must be at least 1, although it has no effect"},
		"bad duration":             {args: "destination --shutdown-grace=10", code: 2, err: "--shutdown-grace=10: must be a duration with its unit, such as 10s or 1m30s"},
		"missing value":            {args: "destination -addr", code: 2, err: "--addr: a value is missing: address to serve the Destination API on, without TLS"},
		"bad level":                {args: "destination -log-level=loud", code: 2, err: "--log-level=loud: must be one of panic, fatal, error, warn, info, debug, trace"},
		"slices off, IPv6 on":      {args: "destination -enable-endpoint-slices=false", code: 2, err: "--enable-ipv6=true: IPv6 addresses are in EndpointSlices only: set --enable-ipv6 to false or --enable-endpoint-slices to true"},
		"unknown controller":       {args: "controllers --controllers=endpointslice,mirror", code: 2, err: `--controllers=endpointslice,mirror: unknown controller "mirror": did you mean mirroring?`},
		"controllers, one dash":    {args: "controllers -controllers=endpoints", code: 2, err: "unknown flag -controllers=endpoints: did you mean --controllers=endpoints?"},
		"controllers argument":     {args: "controllers endpoints", code: 2, err: `unexpected argument "endpoints": "signpost controllers" takes flags only: see "signpost controllers --help"`},
		"bad float":                {args: "controllers --kube-api-qps=many", code: 2, err: "--kube-api-qps=many: must be a number"},
		"argument of plan":         {args: "plan web.yaml", code: 1, err: `unexpected argument "web.yaml": "signpost plan" takes flags only: name manifests with --filename, or a config file with --config`},
		"run with an argument":     {args: "run signpost.yaml", code: 2, err: `unexpected argument "signpost.yaml": name the config file with a flag: signpost run --config signpost.yaml`},
		"run without a file":       {args: "run", code: 2, err: "--config: none given: name a config file"},
		"run with a missing file":  {args: "run --config testdata/config/nonesuch.yaml", code: 2, err: "read the config file: open testdata/config/nonesuch.yaml: no such file or directory"},
		"run, another cluster":     {args: "run --config ../../app/settings/testdata/config/text.good.yaml --kubeconfig nonesuch", code: 1, err: "load the kubeconfig nonesuch: no such file or directory"},
		"run, bad level":           {args: "run --config ../../app/settings/testdata/config/norole.good.yaml --log-level=loud", code: 2, err: "--log-level=loud: must be one of panic, fatal, error, warn, info, debug, trace"},
		"the other name":           {args: "controllers --metrics-address=nowhere", code: 2, err: "--metrics-addr=nowhere: must be HOST:PORT, or :PORT for all addresses of the host"},
		"the other name, one dash": {args: "destination -metrics-address nowhere", code: 2, err: "--metrics-addr=nowhere: must be HOST:PORT, or :PORT for all addresses of the host"},
		"run without a role":       {args: "run --config ../../app/settings/testdata/config/norole.good.yaml", code: 2, err: "../../app/settings/testdata/config/norole.good.yaml:1: no role to run: add the section destination, controllers, dns or xds"},
		"get a port by its name":   {args: "get web.shop:http --addr 127.0.0.1:1", code: 2, err: `"http" is no number of a port: write the number, from 1 to 65535, which signpost services shows beside the name`},
		"get an address":           {args: "get 10.0.0.1:80 --addr 127.0.0.1:1", code: 2, err: `"10.0.0.1:80" is an address: get takes the name of a Service; use signpost profile for an address`},
		"get a pod":                {args: "get po/web --addr 127.0.0.1:1", code: 2, err: `"po/web" is no Service: a Destination server answers for Services and addresses`},
		"get with dots":            {args: "get svc/web.shop -n pay --addr 127.0.0.1:1", code: 2, err: `"web.shop" is no name of a Service, which has no dots: write NAME.NAMESPACE, or svc/NAME with -n NAMESPACE`},
		"get without a server":     {args: "get web.shop:80 --addr 127.0.0.1:1", code: 1, err: "get web.shop.svc.cluster.local:80 from 127.0.0.1:1: Unavailable: dial tcp 127.0.0.1:1: connect: connection refused: check that a Destination server listens there"},
		"get as with kubectl":      {args: "get svc web", code: 2, err: `unexpected argument "web": did you mean svc/web?`},
		"explain as with kubectl":  {args: "explain Ingress web", code: 2, err: `unexpected argument "web": did you mean Ingress/web?`},
		"a port out of range":      {args: "status --port 99999", code: 2, err: "--port=99999: must be from 1 to 65535, or 0 for the port of the pod"},
		"records of no object":     {args: "records --object web --addr 127.0.0.1:1", code: 2, err: "--object=web: must be KIND/NAMESPACE/NAME, or KIND/NAME for an object without a namespace"},
		"xds get nothing":          {args: "xds get", code: 2, err: "no target given: name one, such as web.shop:50051"},
		"xds get two":              {args: "xds get a b", code: 2, err: `unexpected argument "b": get takes one target`},
		"xds get, no server":       {args: "xds get web.shop:80 --addr 127.0.0.1:1", code: 1, err: "query 127.0.0.1:1: Unavailable: dial tcp 127.0.0.1:1: connect: connection refused: check that an xDS server listens there"},
		"unknown stream state":     {args: "streams --state nope", code: 2, err: "--state=nope: must be one of synced, behind, stale"},
		"streams of no pod":        {args: "streams --pod a/b/c", code: 2, err: "--pod=a/b/c: must be NAME, or NAMESPACE/NAME"},
		"level of dns":             {args: "dns --source=empty --provider=inmemory --policy=sync --log-level=loud", code: 2, err: "--log-level=loud: must be one of panic, fatal, error, warn, info, debug, trace"},
		"get nothing":              {args: "get", code: 2, err: "no authority given: name one, such as web.emojivoto:80"},
		"get two":                  {args: "get a b", code: 2, err: `unexpected argument "b": get takes one authority`},
		"profile nothing":          {args: "profile", code: 2, err: "no authority given: name one, such as web.emojivoto:80"},
		"profile two":              {args: "profile a b", code: 2, err: `unexpected argument "b": profile takes one authority`},
		"profile of a format":      {args: "profile a -o xml", code: 2, err: "--output=xml: must be one of table, wide, json, yaml, name, protojson, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…"},
		"get without time":         {args: "get a --timeout=0s", code: 2, err: "--timeout=0s: must be more than 0s"},
		"approve nothing":          {args: "approve --except a", code: 2, err: "no hash given: name the plan by its hash, which `signpost approve` shows, the log and the Event"},
		"show nothing":             {args: "approve --show", code: 2, err: "no hash given: name the plan by its hash, which `signpost approve` shows, the log and the Event"},
		"approve without cluster":  {args: "approve --kubeconfig testdata/nonesuch", code: 1, err: "load the kubeconfig testdata/nonesuch: no such file or directory; or name the address of a server with --addr"},
		"explain nothing":          {args: "explain", code: 2, err: "nothing to explain: name a Service, an object, an address, a DNS name or a URL"},
		"explain a wrong port":     {args: "explain web:99999", code: 2, err: `"99999" is no port: write its number, from 1 to 65535, or its name, which signpost services shows`},
		"explain without a server": {args: "explain web --addr 127.0.0.1:1", code: 2, err: "127.0.0.1:1: ask for the status: dial tcp 127.0.0.1:1: connect: connection refused: name the address of an admin server with --addr, or leave it out to find the pods"},
		"unknown state":            {args: "records --state hold --addr 127.0.0.1:1", code: 2, err: "--state=hold: unknown: did you mean held?"},
		"streams of no Service":    {args: "streams 10.0.0.1 --addr 127.0.0.1:1", code: 2, err: `"10.0.0.1" is no Service: name one as svc/NAME with -n, or as NAMESPACE/NAME`},
		"status, no address":       {args: "status --addr here", code: 2, err: "--addr=here: must be HOST:PORT"},
		"bundle to a directory":    {args: "bundle --addr 127.0.0.1:1 --file .", code: 2, err: "--file=.: exists already: name a new file"},
		"approve two":              {args: "approve 8491bad890624cf1 b", code: 2, err: `unexpected argument "b": approve takes one hash; give names to leave out with --except`},
		"approve no hash":          {args: "approve b", code: 2, err: `"b" is no hash of a plan: it has 16 digits or letters from a to f, and ` + "`signpost approve`" + ` shows those that are held`},
		"unknown shell":            {args: "completion nope", code: 2, err: `unknown command "nope": use one of bash, fish, powershell, zsh`},
		"no shell":                 {args: "completion", code: 2, err: "no command given: use one of those above"},
		"help of an unknown one":   {args: "statsu --help", code: 2, err: `unknown command "statsu": did you mean "status"?`},
		"help of an unknown shell": {args: "completion nope -h", code: 2, err: `unknown command "nope": use one of bash, fish, powershell, zsh`},
		"unknown help":             {args: "help statsu", code: 2, err: `unknown command "statsu": did you mean "status"?`},
		"unknown help of config":   {args: "help config prnt", code: 2, err: `unknown command "prnt": did you mean "print"?`},
		"unknown role to check":    {args: "check destinatoin", code: 1, err: `unexpected argument "destinatoin": did you mean "signpost check destination"?`},
		"completion":               {args: "completion bash", out: "# ex: ts=4 sw=4 et filetype=sh"},
		"drop-in address is taken": {args: "destination -addr=256.0.0.1", code: 2, err: "--addr=256.0.0.1: must be HOST:PORT, or :PORT for all addresses of the host"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errText := runCommand(t.Context(), strings.Fields(tt.args)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if got := lastLine(out); got != tt.out {
				t.Errorf("output ends in %q, want %q", got, tt.out)
			}
			if got := strings.TrimPrefix(lastLine(errText), "signpost: "); got != tt.err {
				t.Errorf("error ends in %q, want %q", got, tt.err)
			}
		})
	}
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndex(s, "\n")+1:]
}

func TestApproveOfEmptyHash(t *testing.T) {
	code, _, errText := runCommand(t.Context(), "approve", "")
	if want := "signpost: the hash is empty: name one, or leave it out\n"; code != exitUsage || errText != want {
		t.Errorf("approve '': %d, %q; want %q", code, errText, want)
	}
}

// A bundle that can't be written leaves no file, which would look like a whole one and refuse the next try.
func TestFailedBundleLeavesNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	code, _, text := runCommand(t.Context(), "bundle", "--addr", "127.0.0.1:1", "--file", file)
	if want := "write the bundle: nothing could be collected"; code != 1 || !strings.Contains(text, want) {
		t.Errorf("code %d, error %q; want 1 and %q", code, text, want)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestGetOfEmptyAuthority(t *testing.T) {
	code, _, errText := runCommand(t.Context(), "get", " ")
	if want := "signpost: the authority is empty: name one, such as web.emojivoto:80\n"; code != exitUsage || errText != want {
		t.Errorf("get ' ': %d, %q; want %q", code, errText, want)
	}
}

func TestHelpGolden(t *testing.T) {
	for _, command := range []string{"", "controllers", "destination", "run", "get", "profile", "approve"} {
		t.Run("help "+command, func(t *testing.T) {
			_, out, _ := runCommand(t.Context(), append([]string{"help"}, strings.Fields(command)...)...)
			golden.Check(t, "help/"+stdcmp.Or(command, "signpost")+".txt", out)
		})
	}
}

// TestHelpAll shows that the help of a command with many flags fits on two screens, with the main flags and
// the number of others (findings L14). --help-all has all of them, even without the flags that the command
// requires.
func TestHelpAll(t *testing.T) {
	for _, command := range []string{"dns", "plan", "check dns", "rbac"} {
		_, short, _ := runCommand(t.Context(), append(strings.Fields(command), "--help")...)
		if n := strings.Count(short, "\n"); n > 140 || !strings.Contains(short, "More flags, which --help-all shows:\n  Source (") || strings.Contains(short, "--aws-zone-type") {
			t.Errorf("%s --help: %d lines:\n%s", command, n, short)
		}
		code, all, errText := runCommand(t.Context(), append(strings.Fields(command), "--help-all")...)
		if code != 0 || errText != "" || strings.Contains(all, "More flags") || !strings.Contains(all, "--aws-zone-type") || !strings.Contains(all, "--domain-filter") {
			t.Errorf("%s --help-all: exit code %d, %q:\n%s", command, code, errText, all)
		}
	}
	if _, help, _ := runCommand(t.Context(), "destination", "--help"); strings.Contains(help, "help-all") {
		t.Errorf("destination --help:\n%s", help)
	}
}

// The usage of a command that only has subcommands has no line for the command alone.
func TestUsageOfCommandsOnly(t *testing.T) {
	for _, command := range []string{"config", "completion"} {
		_, help, _ := runCommand(t.Context(), command, "--help")
		if !strings.Contains(help, "\nUsage:\n  signpost "+command+" [command]\n") {
			t.Errorf("%s --help:\n%s", command, help)
		}
	}
}

func TestSeveralErrorsArePrefixed(t *testing.T) {
	_, _, errText := runCommand(t.Context(), "destination", "-log-level=loud", "-stream-queue-capacity=0")
	if n := strings.Count(errText, "signpost: --"); n != 2 || strings.Count(errText, "\n") != 2 {
		t.Errorf("errors %q, want two lines with the prefix", errText)
	}
}

func TestVersionJSON(t *testing.T) {
	_, out, _ := runCommand(t.Context(), "version", "-o", "json")
	if !strings.HasPrefix(out, "{\n  \"version\": \"dev\",\n  \"go\": \"go1.") {
		t.Errorf("version -o json: %s", out)
	}
}

// TestDropInArgs shows that destination accepts Linkerd's dashes, and dns and plan ExternalDNS' --no-NAME.
func TestDropInArgs(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"nothing":        {},
		"drop-in":        {args: "destination -addr :1 -enable-ipv6", want: "destination --addr :1 --enable-ipv6"},
		"not a drop-in":  {args: "get a -o json", want: "get a -o json"},
		"not a command":  {args: "nonesuch -o json", want: "nonesuch -o json"},
		"flag at first":  {args: "-h destination", want: "-h destination"},
		"the completion": {args: "__complete destination -a", want: "__complete destination -a"},

		"switch":          {args: "dns --no-events --source a", want: "dns --events=false --source a"},
		"plan":            {args: "plan --no-exclude-unschedulable", want: "plan --exclude-unschedulable=false"},
		"value of a flag": {args: "dns --txt-prefix --no-events --no-once", want: "dns --txt-prefix --no-events --once=false"},
		"other commands":  {args: "run --no-events", want: "run --no-events"},
		"unknown":         {args: "dns --no-nonesuch", want: "dns --no-nonesuch"},
		"not a switch":    {args: "dns --no-policy", want: "dns --no-policy"},
		"after the end":   {args: "dns -- --no-events", want: "dns -- --no-events"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := dropInArgs(newRootCommand(streams{}), strings.Fields(tt.args))
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("dropInArgs (-want +got):\n%s", diff)
			}
		})
	}
}

// endless is a Destination server whose streams send one message and stay open.
type endless struct {
	pb.UnimplementedDestinationServer
}

// Get implements [pb.DestinationServer].
func (endless) Get(_ *pb.GetDestination, stream grpc.ServerStreamingServer[pb.Update]) error {
	none := &pb.Update{Update: &pb.Update_NoEndpoints{NoEndpoints: &pb.NoEndpoints{}}}
	if err := stream.Send(none); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// TestGetEndsOnSignals shows that the first signal ends the command with success, in a separate process. A terminal
// that closes sends SIGHUP.
func TestGetEndsOnSignals(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterDestinationServer(server, endless{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			continue // The test runs under nohup.
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "get", "web.emoji.svc.cluster.local", "--watch", "--addr", l.Addr().String())
		cmd.Env = append(os.Environ(), "SIGNPOST_TEST_AS_COMMAND=1")
		var errText bytes.Buffer
		cmd.Stderr = &errText
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after %v: %v, %s", s, err, &errText)
		}
	}
}

// Under nohup, SIGHUP is ignored before the start, and stays so.
func TestSignalsUnderNohup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the test itself runs under nohup")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(endSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends the process")
	}
}
