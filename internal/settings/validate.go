package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/logging"
)

// severity is what becomes of a value that is not right.
type severity int

const (
	// refused stops the start.
	refused severity = iota
	// refusedInFile is tolerated on the command line, as in the program whose place the
	// command takes, and stops the start when it is in a config file.
	refusedInFile
	// remarked is only worth a line in the log.
	remarked
)

// Problem is a setting that can't be used as it is.
type Problem struct {
	severity severity
	// flags are those of the settings concerned, the one to name first.
	flags []string
	// reason says what is wrong and what is allowed. It refers to settings as {flag}.
	reason string
	// instead says what happens where the value is tolerated.
	instead string
}

// reference is a setting in a reason.
var reference = regexp.MustCompile(`\{([a-z0-9-]+)\}`)

// describe returns the reason with the settings named by name.
func (p Problem) describe(name func(flag string) string) string {
	return reference.ReplaceAllStringFunc(p.reason, func(s string) string { return name(s[1 : len(s)-1]) })
}

// Settled returns the options with usable values in the place of those that are
// tolerated.
func (o Destination) Settled() Destination {
	if o.OutboundTransportMode != modeTransportHeader {
		o.OutboundTransportMode = modeTransparent
	}
	if o.IdentityTrustDomain == "" {
		o.IdentityTrustDomain = defaultDomain
	}
	if o.ClusterDomain == "" {
		o.ClusterDomain = defaultDomain
	}
	if o.Leader.ResourceNamespace == "" {
		o.Leader.ResourceNamespace = o.ControllerNamespace
	}
	return o
}

// Validate returns what is wrong with the options.
func (o *Destination) Validate() []Problem {
	found := checkAddress("addr", o.Addr)
	if m := o.OutboundTransportMode; m != modeTransparent && m != modeTransportHeader {
		found = append(found, Problem{
			severity: refusedInFile, flags: []string{"outbound-transport-mode"},
			reason: "must be transport-header or transparent", instead: "transparent is used",
		})
	}
	if o.EnableIPv6 && !o.EnableEndpointSlices {
		found = append(found, Problem{
			flags:  []string{"enable-ipv6", "enable-endpoint-slices"},
			reason: "IPv6 addresses are in EndpointSlices only: set {enable-ipv6} to false or {enable-endpoint-slices} to true",
		})
	}
	found = append(found, checkDomain("identity-trust-domain", o.IdentityTrustDomain)...)
	found = append(found, checkDomain("cluster-domain", o.ClusterDomain)...)
	_, bad := catalog.ParsePortList(o.DefaultOpaquePorts, nil)
	for _, err := range bad {
		found = append(found, Problem{
			severity: refusedInFile, flags: []string{"default-opaque-ports"},
			reason: err.Error(), instead: "that item is left out",
		})
	}
	if o.StreamQueueCapacity <= 0 {
		found = append(found, Problem{
			flags:  []string{"stream-queue-capacity"},
			reason: "must be at least 1, although it has no effect",
		})
	}
	if o.TraceCollector != "" {
		found = append(found, Problem{
			severity: remarked, flags: []string{"trace-collector"},
			reason: "has no effect", instead: "no traces are sent",
		})
	}
	found = append(found, o.checkHTTP2Params()...)
	lease := o.Leader
	lease.ResourceNamespace = cmp.Or(lease.ResourceNamespace, "default") // which namespace it is doesn't matter here
	return append(found, lease.validate()...)
}

// Validate returns what is wrong with the options.
func (o *Process) Validate() []Problem {
	found := checkAddress("metrics-addr", o.MetricsAddr)
	if _, err := logging.ParseLevel(o.LogLevel); err != nil {
		found = append(found, Problem{flags: []string{"log-level"}, reason: err.Error()})
	}
	if !logging.Format(o.LogFormat).Known() {
		found = append(found, Problem{
			severity: refusedInFile, flags: []string{"log-format"},
			reason: "must be plain or json", instead: "plain is used",
		})
	}
	if o.ShutdownGrace <= 0 {
		found = append(found, Problem{flags: []string{"shutdown-grace"}, reason: "must be more than 0s"})
	}
	return found
}

func checkAddress(flag, address string) []Problem {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return nil
	}
	return []Problem{{flags: []string{flag}, reason: "must be HOST:PORT, or :PORT for all addresses of the host"}}
}

func checkDomain(flag, domain string) []Problem {
	if domain != "" {
		return nil
	}
	return []Problem{{severity: remarked, flags: []string{flag}, reason: "is not set", instead: defaultDomain + " is used"}}
}

func (o *Destination) checkHTTP2Params() []Problem {
	const flag = "meshed-http2-client-params"
	if _, err := ParseHTTP2Params(o.MeshedHTTP2ClientParams); err != nil {
		return []Problem{{flags: []string{flag}, reason: err.Error()}}
	}
	if o.MeshedHTTP2ClientParams == "" {
		return nil
	}
	strict := json.NewDecoder(bytes.NewReader([]byte(o.MeshedHTTP2ClientParams)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(pb.Http2ClientParams)); err != nil {
		return []Problem{{
			severity: refusedInFile, flags: []string{flag},
			reason:  fmt.Sprintf("must have the field names of Http2ClientParams, with underscores, such as keep_alive: %v", err),
			instead: "that field is ignored",
		}}
	}
	return nil
}

// ParseHTTP2Params reads the value of --meshed-http2-client-params, which is the JSON of
// the generated struct and not that of protobuf. The empty text gives nil.
func ParseHTTP2Params(text string) (*pb.Http2ClientParams, error) {
	if text == "" {
		return nil, nil
	}
	params := new(pb.Http2ClientParams)
	if err := json.Unmarshal([]byte(text), params); err != nil {
		return nil, fmt.Errorf(`must be JSON such as {"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3}}}: %w`, err)
	}
	return params, nil
}

// Remark is a setting that is used in another way than it was given.
type Remark struct {
	// Setting is the flag, or the path in the config file.
	setting, value, reason, instead string
}

// LogRemarks writes a line to the log for each remark.
func LogRemarks(log *slog.Logger, remarks []Remark) {
	for _, r := range remarks {
		log.Warn("Setting is not used as given", "setting", r.setting, "value", r.value, "reason", r.reason, "instead", r.instead)
	}
}

// CheckFlags returns what to remark about the options of a command line.
func CheckFlags(sections ...Section) ([]Remark, error) {
	var errs []error
	var remarks []Remark
	for _, s := range sections {
		values := map[string]string{}
		for _, s := range s.Settings() {
			values[s.Flag] = s.Value.String()
		}
		for _, p := range s.Validate() {
			flag, reason := p.flags[0], p.describe(flagName)
			if p.severity == refused {
				errs = append(errs, fmt.Errorf("%s=%s: %s", flagName(flag), values[flag], reason))
				continue
			}
			remarks = append(remarks, Remark{setting: flagName(flag), value: values[flag], reason: reason, instead: p.instead})
		}
	}
	if len(errs) > 0 {
		return nil, &UsageError{errors.Join(errs...)}
	}
	return remarks, nil
}

func flagName(flag string) string { return "--" + flag }
