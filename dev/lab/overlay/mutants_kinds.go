package overlay

// kindMutants believe that a kind has no objects when it can't be read: V4, and V5 for
// ExternalWorkloads, because only slices are made of them. One believes that nothing is lost when
// the resource version went back: V1.
var kindMutants = []Mutant{
	{
		Name:      "rewind-unnoticed",
		Fault:     "Watches go on at the version that was reached last, although the resource version of the API server went back.",
		Validator: "V1",
		Profile:   "restore",
		Test:      "kube TestRewind",
		Edits: []Edit{{
			File: "kube/rewind.go",
			Old:  "	if !below(present, p.watches.progress()) {\n",
			New:  "	if true {\n",
		}},
	},
	{
		Name:      "forbidden-is-empty",
		Fault:     "A kind that must not be read any more counts as one without objects.",
		Validator: "V4",
		Profile:   "rights",
		Test:      "kube TestWithdrawnRight",
		Edits: []Edit{
			{
				File: "kube/source.go",
				Old:  "	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:\n",
				New:  "	case http.StatusUnauthorized, http.StatusTooManyRequests:\n",
			},
			emptied("Forbidden"),
		},
	},
	{
		Name:      "other-version-is-empty",
		Fault:     "A kind that is served in another version only counts as one without objects.",
		Validator: "V5",
		Profile:   "versions",
		Test:      "kube TestVersionIsDropped",
		Edits:     []Edit{emptied("OtherVersion")},
	},
}

// emptied empties the tables of a kind that can't be read for a reason.
func emptied(reason string) Edit {
	return Edit{
		File: "kube/part.go",
		Old:  "			p.state.failed(p.explained(ctx, err))\n",
		New: `			err = p.explained(ctx, err)
			p.state.failed(err)
			if reasonOf(err) == ` + reason + ` && p.state.status().Filled {
				newStore(p).replace(nil, p.watches.progress())
			}
`,
	}
}
