package configure

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/plugins"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/internal/nearest"
)

// SourceNames returns the values of --source.
func SourceNames() []string {
	var names []string
	for _, p := range plugins.Sources() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// ProviderNames returns the values of --provider.
func ProviderNames() []string {
	var names []string
	for _, p := range plugins.Providers() {
		names = append(names, p.Names...)
	}
	slices.Sort(names)
	return names
}

// choices are the allowed values of flags.
var choices = map[string]func() []string{
	"source": SourceNames, "provider": ProviderNames, "policy": textsOf(plan.Policies()...), "registry": textsOf(registryTXT, registryNone, registryDynamoDB, registryCRD, registryAWSSD),
	namePolicyFlag: textsOf(tenancy.Shared, tenancy.Namespaced), "managed-record-types": recordTypes, "exclude-record-types": recordTypes,
	"events-emit": textsOf(publisher.ReasonReady, publisher.ReasonDeleted, publisher.ReasonError, "none"),
}

func textsOf[T ~string](values ...T) func() []string {
	return func() (texts []string) {
		for _, v := range values {
			texts = append(texts, string(v))
		}
		return texts
	}
}

// Choices returns the allowed values of a flag; nil if it has no list of them.
func Choices(flag string) []string {
	if of := choices[flag]; of != nil {
		return of()
	}
	return nil
}

// checkChoices refuses values of a flag that are not allowed.
func checkChoices(flag string, values ...string) error {
	var errs []error
	for _, v := range values {
		if !slices.Contains(Choices(flag), v) {
			errs = append(errs, unknown(flag, v))
		}
	}
	return errors.Join(errs...)
}

// Validate returns an error that lists all faults of the options, except those that only sources
// and providers can find.
func (o *Options) Validate() error {
	errs := []error{o.checkSources(), o.checkRead(), o.checkProviders(), o.checkTypes(), o.checkLoop(), o.checkRegistry(), o.checkTenancy(), o.desiredOptions().Check()}
	if o.WebhookServer {
		// With --webhook-server nothing is published, so only the provider counts.
		errs = []error{o.checkProviders()}
	}
	errs = append(errs, o.checkExpanded(), o.checkAffixes())
	if _, err := o.domains(); err != nil {
		errs = append(errs, err)
	}
	if _, err := o.Source.Settings(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// sourcesWith returns the sources whose plugins meet a condition.
func (o *Options) sourcesWith(admits func(source.Plugin) bool) []string {
	var names []string
	for _, p := range o.sourcePlugins {
		if slices.Contains(o.Sources, p.Name) && admits(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// checkRead refuses templates for targets that no source reads, because the records would be
// unexpected. For --fqdn-template there is a [Remark] instead, because many values of ExternalDNS'
// chart set it for any source.
func (o *Options) checkRead() error {
	var errs []error
	check := func(flag string, given bool, instead string, reads func(source.Plugin) bool) {
		if given && len(o.Sources) > 0 && len(o.sourcesWith(reads)) == 0 {
			errs = append(errs, fmt.Errorf("--%s: not read by %s, as at ExternalDNS: %s", flag, strings.Join(o.Sources, ", "), instead))
		}
	}
	s := o.Source
	check("target-template", len(s.TargetTemplates) > 0, "use --fqdn-target-template, or the annotation target", func(p source.Plugin) bool { return p.TargetTemplates })
	check("fqdn-target-template", len(s.FQDNTargetTemplates) > 0, "use --fqdn-template, or the annotations hostname and target", func(p source.Plugin) bool { return p.PairTemplates })
	return errors.Join(errs...)
}

func (o *Options) checkSources() error {
	if len(o.Sources) == 0 {
		return fmt.Errorf("--source: none given: use %s", strings.Join(SourceNames(), ", "))
	}
	return checkChoices("source", o.Sources...)
}

func (o *Options) checkProviders() error {
	var errs []error
	if len(o.Providers) == 0 {
		errs = append(errs, fmt.Errorf("--provider: none given: use one of %s", strings.Join(ProviderNames(), ", ")))
	}
	for _, name := range o.Providers {
		if isMissing(name) {
			errs = append(errs, missingProvider(name))
		} else {
			errs = append(errs, checkChoices("provider", name))
		}
	}
	return errors.Join(errs...)
}

// unknown returns the error for a value that is not among the [Choices] of a flag.
func unknown(flag, value string) error {
	if strings.Contains(value, ",") {
		return fmt.Errorf("--%s=%s: contains a comma: repeat the flag, once for each value", flag, value)
	}
	known := Choices(flag)
	if near, ok := nearest.Of(value, known); ok {
		return fmt.Errorf("--%s=%s: unknown: did you mean %s?", flag, value, near)
	}
	return fmt.Errorf("--%s=%s: unknown: use one of %s", flag, value, strings.Join(known, ", "))
}

func (o *Options) providerPlugin(name string) provider.Plugin {
	return o.providerPlugins[slices.IndexFunc(o.providerPlugins, func(p provider.Plugin) bool { return slices.Contains(p.Names, name) })]
}

func (o *Options) checkTypes() error {
	errs := []error{checkChoices("managed-record-types", o.ManagedTypes...), checkChoices("exclude-record-types", o.ExcludedTypes...)}
	if o.CreatePTR && slices.Contains(o.ExcludedTypes, dns.TypePTR) {
		errs = append(errs, errors.New("--create-ptr: PTR records are not managed: remove --exclude-record-types=PTR"))
	}
	return errors.Join(errs...)
}

// recordTypes returns the record types that can be managed.
func recordTypes() []string {
	return []string{
		dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeSRV, dns.TypeNS, dns.TypePTR, dns.TypeMX, dns.TypeNAPTR, dns.TypeDNAME,
	}
}

func (o *Options) checkLoop() error {
	var errs []error
	if o.Policy == "" {
		errs = append(errs, errors.New("--policy: none given: use sync, upsert-only or create-only (ExternalDNS before 0.22 took sync)"))
	} else {
		errs = append(errs, checkChoices("policy", o.Policy))
	}
	if o.Interval <= 0 {
		errs = append(errs, fmt.Errorf("--interval=%v: must be more than 0s", o.Interval))
	}
	errs = append(errs, notNegative("deletion-delay", o.DeletionDelay))
	errs = append(errs, notNegative("batch-change-size", o.BatchSize), notNegative("batch-change-interval", o.BatchInterval),
		notNegative("zones-cache-duration", o.ZonesCacheDuration), notNegative("provider-calls-per-second", o.CallsPerSecond))
	errs = append(errs, o.Reading.Check())
	b := o.Budget
	errs = append(errs, checkLimit("max-deletions", b.Deletions), checkLimit("max-updates", b.SettingsUpdates), checkLimit("max-object-updates", b.ObjectUpdates))
	if b.Window <= 0 {
		errs = append(errs, fmt.Errorf("--deletion-window=%v: must be more than 0s", b.Window))
	}
	if o.Approved != "" && !budget.ValidHash(o.Approved) {
		errs = append(errs, fmt.Errorf("--approve-plan=%s: no hash of a plan: it has 16 digits or letters from a to f, and signpost approve shows those that are held", o.Approved))
	}
	errs = append(errs, checkChoices("events-emit", o.EventsEmit...))
	return errors.Join(errs...)
}

// notNegative refuses a number or a duration below zero.
func notNegative[N int | float64 | time.Duration](flag string, value N) error {
	if value < 0 {
		return fmt.Errorf("--%s=%v: must not be negative", flag, value)
	}
	return nil
}

// checkLimit checks a limit of the budget, whose flags are flag and flag-percent.
func checkLimit(flag string, limit budget.Limit) error {
	err := notNegative(flag, limit.Records)
	if limit.Percent < 0 || limit.Percent > 100 {
		err = errors.Join(err, fmt.Errorf("--%s-percent=%d: must be from 0 to 100", flag, limit.Percent))
	}
	return err
}

func (o *Options) checkRegistry() error {
	r := o.Registry
	if err := checkChoices("registry", r.Kind); err != nil {
		return err
	}
	if err := o.checkDescriptions(); err != nil || r.Kind == registryNone {
		return err
	}
	if r.OwnerID == "" {
		return errors.New("--txt-owner-id: empty: give a name that no other program has that publishes in the same zones")
	}
	if err := o.checkInstance(); err != nil {
		return err
	}
	var err error
	switch o.RegistryKind() {
	case registryTXT:
		_, err = owner.NewTXT(o.txtOptions(Input{}))
	case registryAWSSD:
		_, err = o.openDescriptions(Input{})
	case registryCRD:
		if len(validation.IsDNS1123Label(r.CRDNamespace)) > 0 && r.CRDNamespace != "" {
			err = fmt.Errorf("--crd-registry-namespace %q: no namespace has such a name; use lower-case letters, digits and dashes between them, 63 at most", r.CRDNamespace)
		}
	}
	return err
}

// rules returns the rules for plans, without the owner.
func (o *Options) rules() *plan.Rules {
	return &plan.Rules{Policy: plan.Policy(o.Policy), Managed: o.ManagedTypes, Excluded: o.ExcludedTypes}
}

// problems returns a function that reports the problems of registries.
func (o *Options) problems(in Input) func(dns.Problem) {
	return func(p dns.Problem) {
		message := p.Text(func(value string) string { return value })
		if in.Log != nil {
			in.Log.Warn("Can't own a record", "problem", message)
		}
		if in.Notify != nil {
			in.Notify(publisher.Notice{Objects: []dns.Object{p.Object}, Action: publisher.ActionFailed, Reason: publisher.ReasonInvalid, Message: message})
		}
	}
}

func (o *Options) txtOptions(in Input) owner.TXTOptions {
	r := o.Registry
	return owner.TXTOptions{
		OwnerID: r.OwnerID, OldOwnerID: r.MigrateFrom, Prefix: r.Prefix, Suffix: r.Suffix, WildcardReplacement: r.Wildcard,
		EncryptEnabled: r.Encrypt, AESKey: r.AESKey, Managed: o.rules().Manages, Problems: o.problems(in),
	}
}

// checkRegex refuses text that is no regular expression.
func checkRegex(flag, text string) error {
	var invalid *syntax.Error
	if _, err := regexp.Compile(text); errors.As(err, &invalid) {
		return fmt.Errorf("--%s=%s: no regular expression (RE2): %s: %s", flag, text, invalid.Code, invalid.Expr)
	}
	return nil
}

// domains returns the user's domain filter.
func (o *Options) domains() (*dns.DomainFilter, error) {
	if o.filtersByRegex() {
		err := errors.Join(checkRegex("regex-domain-filter", o.RegexDomainFilter), checkRegex("regex-domain-exclusion", o.RegexDomainExcept))
		if err != nil {
			return nil, err
		}
		return dns.NewRegexFilter(o.RegexDomainFilter, o.RegexDomainExcept)
	}
	return dns.NewDomainFilter(o.DomainFilter, o.ExcludeDomains), nil
}
