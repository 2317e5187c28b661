package catalog

import "testing"

// The rules of label selectors in §2.7: a nil selector selects nothing, an empty one everything.
func TestSelector(t *testing.T) {
	labels := labelsOf("app", "web", "tier", "front", "empty", "")
	one := func(key string, o Operator, values ...string) *Selector {
		return &Selector{[]Requirement{{key, o, values}}}
	}
	for name, tc := range map[string]struct {
		selector *Selector
		want     bool
	}{
		"nil":                             {selector: nil, want: false},
		"empty":                           {selector: &Selector{}, want: true},
		"In, value listed":                {selector: one("app", In, "db", "web"), want: true},
		"In, other values":                {selector: one("app", In, "db"), want: false},
		"In, no values":                   {selector: one("app", In), want: false},
		"In, without the label":           {selector: one("missing", In, ""), want: false},
		"In, empty value":                 {selector: one("empty", In, ""), want: true},
		"NotIn, value listed":             {selector: one("app", NotIn, "web"), want: false},
		"NotIn, other values":             {selector: one("app", NotIn, "db"), want: true},
		"NotIn, without the label":        {selector: one("missing", NotIn, "web"), want: true},
		"Exists":                          {selector: one("empty", Exists), want: true},
		"Exists, without the label":       {selector: one("missing", Exists), want: false},
		"DoesNotExist":                    {selector: one("app", DoesNotExist), want: false},
		"DoesNotExist, without the label": {selector: one("missing", DoesNotExist), want: true},
		"an operator that doesn't exist":  {selector: one("app", "Near", "web"), want: false},
		"all requirements have to hold":   {selector: &Selector{[]Requirement{{"app", In, []string{"web"}}, {"tier", In, []string{"back"}}}}, want: false},
		"all requirements do hold":        {selector: &Selector{[]Requirement{{"app", In, []string{"web"}}, {"tier", Exists, nil}}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.selector.Matches(labels); got != tc.want {
				t.Errorf("Matches = %v, want %v", got, tc.want)
			}
		})
	}
	if !(&Selector{}).Matches(nil) {
		t.Error("the empty selector doesn't select an object without labels")
	}
}
