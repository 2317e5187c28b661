package overlay

// streamMutants are told to clients: V1 to V4.
var streamMutants = []Mutant{
	{
		Name:      "lost-step",
		Fault:     "A view drops a response that comes within 50 ms after another, and counts it as sent.",
		Validator: "V1",
		Profile:   "mixed",
		Test:      "destination TestRing -rapid.nofailfile",
		Edits: []Edit{{
			File: "destination/topic.go",
			Old: `	v.entries = next.entries
	d := compare(old.entries, next.entries)
`,
			New: `	before := v.entries
	v.entries = next.entries
	d := compare(before, next.entries)
	if next.at.Sub(old.at) < 50*time.Millisecond {
		return d, false
	}
`,
		}},
	},
	{
		Name:      "first-change-wins",
		Fault:     "When an object changes twice before the catalog has applied the first change, the second one is lost.",
		Validator: "V1",
		Profile:   "calm",
		Test:      "catalog TestPace",
		Edits: []Edit{{
			File: "catalog/catalog.go",
			Old:  "	c.inbox.put(func() { c.inbox.changes[v.ID()] = v })\n",
			New: `	c.inbox.put(func() {
		if _, waits := c.inbox.changes[v.ID()]; !waits {
			c.inbox.changes[v.ID()] = v
		}
	})
`,
		}},
	},
	{
		Name:      "kept-address",
		Fault:     "A step that adds endpoints doesn't remove any, so addresses stay that are gone.",
		Validator: "V1",
		Profile:   "mixed",
		Test:      "destination TestGetAddAndRemove",
		Edits: []Edit{{
			File: "destination/response.go",
			Old:  "	return append(addFrames(d.added), removeFrames(d.removed)...)\n",
			New: `	if len(d.added) > 0 {
		return addFrames(d.added)
	}
	return removeFrames(d.removed)
`,
		}},
	},
	{
		Name:      "wrong-port",
		Fault:     "The port of an endpoint is the first one of its slice, whichever port of the Service was asked for.",
		Validator: "V2",
		Profile:   "mixed",
		Test:      "catalog TestMembersMapPorts",
		Edits: []Edit{{
			File: "catalog/resolve.go",
			Old:  "			if p.Name == declared.Name {\n",
			New:  "			if p.Name != \"\" || p.Name == declared.Name {\n",
		}},
	},
	{
		Name:      "not-ready-told",
		Fault:     "Endpoints that are not ready are told to clients.",
		Validator: "V2",
		Profile:   "mixed",
		Test:      "kube/kinds TestTrimEndpointSlice",
		Edits: []Edit{{
			File: "kube/kinds/endpointslice.go",
			Old:  "		NotReady:  isNotReady(&e.Conditions),\n",
			New:  "		NotReady:  isNotReady(&e.Conditions) && len(addresses) == 0,\n",
		}},
	},
	{
		Name:      "step-twice",
		Fault:     "After each step a stream sends the step before it once more.",
		Validator: "V3",
		Profile:   "mixed",
		Test:      "destination TestGetAddAndRemove",
		Edits: []Edit{
			{
				File: "destination/stream.go",
				Old:  "	steps, ok := a.since(at.version)\n",
				New:  "	steps, ok := a.since(max(at.version, 1) - 1)\n",
			},
			{
				File: "destination/stream.go",
				Old:  "	for _, frames := range steps {\n",
				New: `	for i := range steps {
		frames := steps[len(steps)-1-i]
`,
			},
		},
	},
	{
		Name:      "outage-empties",
		Fault:     "While a watch can't be resumed, its tables are empty: what can't be read counts as deleted.",
		Validator: "V4",
		Profile:   "outage",
		Test:      "kube TestNamespacesSurviveAnOutage",
		Edits: []Edit{
			{
				File: "kube/source.go",
				Old:  "	return nil, resumable{err}\n",
				New:  "	return nil, err\n",
			},
			{
				File: "kube/part.go",
				Old:  "		if err != nil {\n			p.state.failed(p.explained(ctx, err))\n",
				New:  "		if p.listed {\n			newStore(p).replace(nil, \"\")\n		}\n		if err != nil {\n			p.state.failed(p.explained(ctx, err))\n",
			},
		},
	},
	{
		Name:      "relist-forgets",
		Fault:     "After a watch has expired, a table forgets what it had, and knows only what changes from then on.",
		Validator: "V4",
		Profile:   "compaction",
		Test:      "kube TestListingOfOneNamespace",
		Edits: []Edit{{
			File: "kube/table.go",
			Old:  "	gone := t.without(l)\n",
			New:  "	if t.filled.Load() {\n		l.entries = nil\n	}\n	gone := t.without(l)\n",
		}},
	},
}
