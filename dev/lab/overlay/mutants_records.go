package overlay

// recordMutants write records: V6.
var recordMutants = []Mutant{
	{
		Name:      "no-marker",
		Fault:     "Records are created without a marker.",
		Validator: "V6",
		Profile:   "mixed",
		Test:      "dns/owner TestBefore",
		Edits: []Edit{{
			File: "dns/owner/before.go",
			Old:  "	name := b.OwnershipRecordName(c.New.Name, c.New.Type)\n	if name == \"\" {\n",
			New:  "	name := b.OwnershipRecordName(c.New.Name, c.New.Type)\n	if c.Old == nil {\n		return nil\n	}\n	if name == \"\" {\n",
		}},
	},
	{
		Name:      "late-marker",
		Fault:     "A record is created with one update, and its marker with a later one.",
		Validator: "V6",
		Profile:   "mixed",
		Test:      "dns/provider/rfc2136 TestOwnershipStaysTogether",
		Edits: []Edit{
			{
				File: "dns/publisher/divide.go",
				Old:  "	send = ownershipFirst(send)\n",
				New:  "",
			},
			{
				File: "dns/provider/together.go",
				Old:  "[]string{c.RecordSet().Key().Name, c.Subject()}",
				New:  "[]string{c.RecordSet().Key().Name}",
			},
			{
				File: "dns/provider/rfc2136/apply.go",
				Old:  "		if end > first && (edits > a.provider.batch || size > maxMessage) {\n",
				New:  "		if end > first || edits > a.provider.batch || size > maxMessage {\n",
			},
		},
	},
	{
		Name:      "owner-ignored",
		Fault:     "Nobody asks whose a record is: what objects ask for replaces the records of others.",
		Validator: "V6",
		Profile:   "mixed",
		Test:      "dns/owner TestBefore",
		Edits: []Edit{
			{
				File: "dns/plan/rules.go",
				Old:  "	return r.Owner == \"\" || set.Labels[dns.LabelOwner] == r.Owner && dns.OtherInstance(set.Labels, r.Instance) == \"\"\n",
				New:  "	return true\n",
			},
			{
				File: "dns/owner/before.go",
				Old:  "	case m.rank == ours, m.rank == oldOwners && c.New != nil:\n",
				New:  "	case m.rank >= others:\n",
			},
		},
	},
	{
		Name:      "no-prerequisites",
		Fault:     "Updates of a zone have no prerequisites, so a record that somebody made since the zone was read is changed.",
		Validator: "V6",
		Profile:   "mixed",
		Test:      "dns/provider/rfc2136 TestZoneIsNotAsListed",
		Edits: []Edit{{
			File: "dns/provider/rfc2136/update.go",
			Old:  "		g.require(m)\n",
			New:  "",
		}},
	},
}
