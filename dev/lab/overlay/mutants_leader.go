package overlay

// neverGivenUp has a leader go on after client-go has given up to renew the Lease.
var neverGivenUp = Edit{
	File: "internal/leader/leader.go",
	Old:  "			l.term.end(\"renewing it was given up\")\n",
	New:  "			return\n",
}

// leaderMutants write while they don't lead: V7.
var leaderMutants = []Mutant{
	{
		Name:      "late-fence",
		Fault:     "The fence closes ten lease durations after the last renewal, when another process has the Lease.",
		Validator: "V7",
		Profile:   "split-brain",
		Test:      "internal/leader TestFenceFollowsRenewals",
		Edits: []Edit{
			{
				File: "internal/leader/fence.go",
				Old:  "limit: c.RenewDeadline,",
				New:  "limit: 10 * c.LeaseDuration,",
			},
			neverGivenUp,
		},
	},
	{
		Name:      "lease-forever",
		Fault:     "Who has had the Lease once believes that it has it for ever, whatever the clocks say and whoever holds it.",
		Validator: "V7",
		Profile:   "split-brain",
		Test:      "internal/leader TestFenceFollowsRenewals",
		Edits: []Edit{
			{
				File: "internal/leader/fence.go",
				Old:  "	return !t.fence.now().Before(t.deadline) || !t.fence.wall().Before(t.deadline.Round(0))\n",
				New:  "	return t.over\n",
			},
			{
				File: "internal/leader/fence.go",
				Old:  "	reason := holder + \" holds it\"\n	if t.timer != nil {\n",
				New:  "	reason := holder + \" holds it\"\n	if t.timer != nil && t.over {\n",
			},
			neverGivenUp,
		},
	},
	{
		Name:      "forbidden-renewal-counts",
		Fault:     "Who has the Lease and may no longer write it takes each refusal of the API server for a renewal, and leads on.",
		Validator: "V7",
		Profile:   "rights",
		Test:      "internal/leader TestLosesRightToWriteLease",
		Edits: []Edit{{
			File: "internal/leader/lock.go",
			Old:  "	err := send(limited, record)\n",
			New: `	err := send(limited, record)
	if apierrors.IsForbidden(err) {
		err = nil
	}
`,
		}},
	},
	{
		Name:      "stolen-lease",
		Fault:     "A candidate takes the Lease without waiting until it has run out, while the holder goes on until it notices.",
		Validator: "V7",
		Profile:   "mixed",
		Test:      "internal/leader TestAPIServerCutOff",
		Edits: []Edit{{
			File: "internal/leader/lock.go",
			Old:  "	return record, raw, err\n",
			New: `	if err == nil && record.HolderIdentity != l.Identity() {
		record.LeaseDurationSeconds = 0
	}
	return record, raw, err
`,
		}},
	},
}
