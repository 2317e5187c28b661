package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// dashFlags are flags like those of the drop-in commands.
func dashFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, name := range []string{"addr", "kubeconfig", "log-format", "stream-queue-capacity"} {
		flags.String(name, "", "")
	}
	flags.StringP("output", "o", "", "")
	flags.BoolP("all-namespaces", "A", false, "")
	flags.Bool("enable-ipv6", false, "")
	return flags
}

func TestTwoDashes(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"nothing":                   {},
		"two dashes":                {args: "--addr=:8086", want: "--addr=:8086"},
		"one dash":                  {args: "-addr=:8086", want: "--addr=:8086"},
		"value follows":             {args: "-addr :8086 -enable-ipv6=false", want: "--addr :8086 --enable-ipv6=false"},
		"value with a dash":         {args: "-stream-queue-capacity -1 -addr -x", want: "--stream-queue-capacity -1 --addr -x"},
		"value after two dashes":    {args: "--addr -x -kubeconfig -y", want: "--addr -x --kubeconfig -y"},
		"value that is two dashes":  {args: "-addr -- -enable-ipv6", want: "--addr -- --enable-ipv6"},
		"value is missing":          {args: "-addr", want: "--addr"},
		"bool takes nothing":        {args: "-enable-ipv6 -addr :1", want: "--enable-ipv6 --addr :1"},
		"unknown flag":              {args: "-unknown -addr :1", want: "--unknown --addr :1"},
		"help":                      {args: "-h", want: "--help"},
		"letter":                    {args: "-o json -addr :1", want: "-o json --addr :1"},
		"letter, equals":            {args: "-o=json -addr :1", want: "-o=json --addr :1"},
		"letter with its value":     {args: "-ojson -addr :1", want: "-ojson --addr :1"},
		"letter, value with a dash": {args: "-o -addr -addr :1", want: "-o -addr --addr :1"},
		"letter without a value":    {args: "-A -addr :1", want: "-A --addr :1"},
		"name, not a letter":        {args: "-output json", want: "--output json"},
		"two dashes and a letter":   {args: "--o json", want: "--o json"},
		"equals sign in the value":  {args: "-log-format=a=b", want: "--log-format=a=b"},
		"argument":                  {args: "false -enable-ipv6", want: "false --enable-ipv6"},
		"one dash alone":            {args: "- -enable-ipv6", want: "- --enable-ipv6"},
		"end of flags":              {args: "-enable-ipv6 -- -addr", want: "--enable-ipv6 -- -addr"},
		"negative number as a flag": {args: "-1", want: "--1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(TwoDashes(strings.Fields(tt.args), dashFlags()), " ")
			if got != tt.want {
				t.Errorf("TwoDashes(%q) = %q, want %q", tt.args, got, tt.want)
			}
		})
	}
}

func FuzzTwoDashes(f *testing.F) {
	for _, seed := range []string{"", "-addr\n:1", "--addr\n-x\n--\n-y", "-\n--\n-h", "---x", "-=\n-a=", "-o\n-addr", "-ojson"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		once := TwoDashes(args, dashFlags())
		if len(once) != len(args) {
			t.Fatalf("TwoDashes(%q) = %q: arguments were lost or made", args, once)
		}
		for i := range args {
			if strings.TrimLeft(once[i], "-") != strings.TrimLeft(args[i], "-") && once[i] != "--help" {
				t.Errorf("TwoDashes(%q)[%d] = %q: more than dashes changed", args, i, once[i])
			}
		}
		if diff := cmp.Diff(once, TwoDashes(once, dashFlags())); diff != "" {
			t.Errorf("TwoDashes(%q) is not stable (-once +twice):\n%s", args, diff)
		}
	})
}
