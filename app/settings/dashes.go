package settings

import (
	"strings"

	"github.com/spf13/pflag"
)

// TwoDashes returns the arguments with two dashes before the name of every flag. Letters of flags,
// such as -o json and -ojson, keep their dash, unless a flag has that name. The value after a flag
// is left unchanged, even if it begins with a dash.
func TwoDashes(args []string, flags *pflag.FlagSet) []string {
	normal := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(normal, args[i:]...)
		}
		flag, valueFollows := twoDashes(args[i], flags)
		normal = append(normal, flag)
		if valueFollows && i+1 < len(args) {
			i++
			normal = append(normal, args[i])
		}
	}
	return normal
}

// twoDashes returns an argument in pflag's form, and whether the next one is its value.
func twoDashes(arg string, flags *pflag.FlagSet) (flag string, valueFollows bool) {
	name, isFlag := strings.CutPrefix(arg, "-")
	if !isFlag || name == "" {
		return arg, false
	}
	name, long := strings.CutPrefix(name, "-")
	key, _, hasValue := strings.Cut(name, "=")
	switch f := flags.Lookup(key); {
	case f != nil:
		return "--" + name, !hasValue && f.NoOptDefVal == ""
	case name == "h":
		return "--help", false // cobra adds this flag later
	case long || name == "":
		return "--" + name, false
	}
	letter := flags.ShorthandLookup(name[:1])
	if letter == nil {
		return "--" + name, false
	}
	return arg, len(name) == 1 && letter.NoOptDefVal == ""
}
