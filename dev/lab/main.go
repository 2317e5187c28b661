// Command lab runs two replicas of Signpost, injects faults around them while objects change, records what
// every client and watcher saw, and checks the recorded history with validators.
//
//	go run ./dev/lab                             one run of three minutes with a new seed (what `make lab` does)
//	go run ./dev/lab --seed 7                    the run of a seed once more
//	go run ./dev/lab --seed 1 --runs 24 --parallel 3 --duration 3m
//	go run ./dev/lab --profile outage            only one kind of fault; --help lists them
//	go run ./dev/lab --mutant late-fence         a Signpost with a planted bug, which a validator must find
//	go run ./dev/lab --check dev/lab/out/seed-7/history.jsonl   check a history once more
//
// etcd, the API server, BIND, bin/signpost and the gRPC clients are real. Proxies between them cut, delay and
// drop traffic ([network]). The seed determines the edits ([workload]) and the faults ([schedule]). At the
// end comes a calm, in which everything must converge to the state of the model ([model], [validate]). A run
// with findings keeps its directory, with the history and all logs.
//
// Exit codes: 0 without findings, or if each mutant was found; 1 with findings, or if a mutant wasn't found;
// 2 for a wrong command line; 3 if the lab itself has failed.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/schedule"
	"github.com/signpostd/signpost/dev/lab/validate"
)

// Exit codes.
const (
	exitFindings = 1
	exitUsage    = 2
	exitLab      = 3
)

// options are the values of the flags.
type options struct {
	seed                   uint64
	runs, parallel         int
	duration, calm         time.Duration
	profile, mutant        string
	rate                   float64
	out, check             string
	signpost, localcluster string
	skewed                 string // path of a Signpost whose clock can be set; built if a run needs it
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func execute(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parse(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(errOut, "lab:", err)
		return exitUsage
	}
	var found int
	if o.check != "" {
		found, err = judgeFile(out, o.check)
	} else if err = os.MkdirAll(o.out, 0o700); err == nil && o.mutant != "" {
		found, err = runMutants(ctx, out, o)
	} else if err == nil {
		found, err = runAll(ctx, out, o)
	}
	switch {
	case err != nil:
		fmt.Fprintln(errOut, "lab:", err)
		return exitLab
	case found > 0:
		return exitFindings
	default:
		return 0
	}
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("lab", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Uint64Var(&o.seed, "seed", 0, "decides what is edited and broken; 0 for a new one")
	flags.IntVar(&o.runs, "runs", 1, "how many seeds are run, from --seed on")
	flags.IntVar(&o.parallel, "parallel", 1, "how many runs there are at a time")
	flags.DurationVar(&o.duration, "duration", 3*time.Minute, "how long objects are edited and things are broken")
	flags.DurationVar(&o.calm, "calm", time.Minute, "how long everything may take afterwards until it is as it has to be")
	flags.StringVar(&o.profile, "profile", "", "what is broken, mixed or, for a mutant, its own if empty: "+strings.Join(profileNames(), ", "))
	flags.StringVar(&o.mutant, "mutant", "", "run a Signpost with a planted fault, which a validator has to find; several with commas, or "+allMutants+": "+strings.Join(mutantNames(), ", "))
	flags.Float64Var(&o.rate, "rate", 10, "edits a second")
	flags.StringVar(&o.out, "out", "dev/lab/out", "directory for histories and logs")
	flags.StringVar(&o.check, "check", "", "judge this history instead of running anything")
	flags.StringVar(&o.signpost, "signpost", "bin/signpost", "path of signpost")
	flags.StringVar(&o.localcluster, "localcluster", "bin/localcluster", "path of localcluster")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.runs < 1 || o.parallel < 1 {
		return o, errors.New("--runs and --parallel: use 1 or more")
	}
	if err := check(o); err != nil {
		return o, err
	}
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	var err error
	o.out, err = filepath.Abs(o.out)
	return o, err
}

// check validates names and times.
func check(o options) error {
	if o.duration < schedule.Shortest {
		return fmt.Errorf("--duration %s: use %s or more", o.duration, schedule.Shortest)
	}
	profiles, mutants := profileNames(), mutantNames()
	if o.profile != "" && !slices.Contains(profiles, o.profile) {
		return fmt.Errorf("there is no profile %q: take %s", o.profile, strings.Join(profiles, ", "))
	}
	if o.mutant == "" || o.mutant == allMutants {
		return nil
	}
	for _, name := range strings.Split(o.mutant, ",") {
		if !slices.Contains(mutants, name) {
			return fmt.Errorf("there is no mutant %q: take %s", name, strings.Join(mutants, ", "))
		}
	}
	return nil
}

// runAll runs all seeds, and returns the number of findings.
func runAll(ctx context.Context, out io.Writer, o options) (found int, err error) {
	o.profile = cmp.Or(o.profile, schedule.Mixed)
	if o, err = buildSkewed(ctx, o); err != nil {
		return 0, err
	}
	seeds := make(chan uint64)
	var (
		mu   sync.Mutex
		errs []error
		wg   sync.WaitGroup
	)
	for range o.parallel {
		wg.Go(func() {
			for seed := range seeds {
				result, err := run(ctx, o, seed)
				mu.Lock()
				found += len(result.findings)
				if err == nil {
					fmt.Fprint(out, result)
				} else {
					fmt.Fprintf(out, "seed %d: the lab has failed: %v\n", seed, err)
					errs = append(errs, fmt.Errorf("run of seed %d: %w", seed, err))
				}
				mu.Unlock()
			}
		})
	}
	for i := range o.runs {
		select {
		case seeds <- o.seed + uint64(i):
		case <-ctx.Done():
		}
	}
	close(seeds)
	wg.Wait()
	return found, errors.Join(append(errs, context.Cause(ctx))...)
}

// judgeFile checks a recorded history.
func judgeFile(out io.Writer, path string) (found int, err error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return 0, err
	}
	r := result{seed: h.Setup.Seed, dir: filepath.Dir(path), entries: len(h.Entries), findings: judge(h)}
	fmt.Fprint(out, r)
	return len(r.findings), nil
}

// judge runs all validators.
func judge(h history.History) []validate.Finding {
	var findings []validate.Finding
	for _, v := range validate.All() {
		findings = append(findings, v.Check(h)...)
	}
	return findings
}
