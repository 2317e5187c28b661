package overlay

// kindMutants believe that a kind has no objects when it can't be read: V4, and V5 where slices are made of them.
var kindMutants = []Mutant{
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
				newStore(p).replace(nil, p.watches.come())
			}
`,
	}
}
