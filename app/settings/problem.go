package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/signpostd/signpost/dns"
)

// severity says what happens to an invalid value.
type severity int

const (
	// refused prevents the start.
	refused severity = iota
	// refusedInFile prevents the start if the value is in a config file. On the command line the value
	// is tolerated, as by the program that the command replaces.
	refusedInFile
	// remarked is logged.
	remarked
)

// problem is a setting that can't be used as given.
type problem struct {
	severity severity
	// flags are the settings of the problem. Messages name the first.
	flags []string
	// reason says what is wrong and what is allowed. It names settings as {flag}.
	reason string
	// instead says what happens if the value is tolerated.
	instead string
}

// reference matches a setting in a reason.
var reference = regexp.MustCompile(`\{([a-z0-9-]+)\}`)

// describe returns the reason with the names of settings that name returns.
func (p problem) describe(name func(flag string) string) string {
	return reference.ReplaceAllStringFunc(p.reason, func(s string) string { return name(s[1 : len(s)-1]) })
}

// Remark is about a setting that is not used as given.
type Remark struct {
	// setting is the flag, or the path in the config file.
	setting, value, reason, instead string
}

// String returns the remark as one line.
func (r Remark) String() string {
	return fmt.Sprintf("%s=%s: %s; %s", r.setting, r.value, r.reason, r.instead)
}

// LogRemarks logs remarks, one line each.
func LogRemarks(log *slog.Logger, remarks []Remark) {
	for _, r := range remarks {
		log.Warn("Setting is not used as given", "setting", r.setting, "value", r.value, "reason", r.reason, "instead", r.instead)
	}
}

// CheckFlags returns the remarks about the settings of a command line. Its error has a line for
// each refused value.
func CheckFlags(sections ...Section) ([]Remark, error) {
	return checkSections(sections, refusedInFile, func(s Setting) string { return flagName(s.Flag) })
}

// checkSections returns the remarks about settings. Its error has a line for each value with a severity below
// tolerated. name returns how the user gave a setting.
func checkSections(sections []Section, tolerated severity, name func(Setting) string) ([]Remark, error) {
	var errs []error
	var remarks []Remark
	for _, section := range sections {
		settings := map[string]Setting{}
		for _, s := range section.Settings() {
			settings[s.Flag] = s
		}
		nameOf := func(flag string) string { return name(settings[flag]) }
		for _, p := range section.validate() {
			setting, value, reason := nameOf(p.flags[0]), settings[p.flags[0]].Value.String(), p.describe(nameOf)
			if p.severity < tolerated {
				errs = append(errs, fmt.Errorf("%s=%s: %s", setting, value, reason))
				continue
			}
			remarks = append(remarks, Remark{setting: setting, value: value, reason: reason, instead: p.instead})
		}
	}
	if len(errs) > 0 {
		return nil, &UsageError{errors.Join(errs...)}
	}
	return remarks, nil
}

// checkDomain returns the problem of a domain that no name ends in. The empty one is the default.
func checkDomain(s severity, flag, domain string) []problem {
	if domain == "" || domain == dns.Canonical(domain) && dns.CheckName(domain) == nil {
		return nil
	}
	return []problem{{
		severity: s, flags: []string{flag},
		reason: "must be a domain name in lower case, such as cluster.local", instead: "it is used as given, and matches no name",
	}}
}

func flagName(flag string) string { return "--" + flag }
