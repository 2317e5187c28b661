package overlay

// xdsMutants are told to clients of xDS: V8 to V10. The Destination API of the same process is right.
var xdsMutants = []Mutant{
	{
		Name:      "kept-assignment",
		Fault:     "An open stream isn't sent a ClusterLoadAssignment that has lost some of its endpoints.",
		Validator: "V8",
		Profile:   "calm",
		Test:      "xds TestPacing",
		Edits: []Edit{{
			File: "xds/view.go",
			Old:  "	v.current.Store(f)\n	for sub := range v.subscribers {\n",
			New: `	before := v.current.Swap(f)
	for sub := range v.subscribers {
		if before != nil && len(f.usable) > 0 && len(f.usable) < len(before.usable) {
			continue
		}
`,
		}},
	},
	{
		Name:      "stale-reconnect",
		Fault:     "A delta client that reconnects with any version of a ClusterLoadAssignment is taken for one with the newest.",
		Validator: "V8",
		Profile:   "half-open",
		Test:      "xds TestDeltaReconnects",
		Edits: []Edit{{
			File: "xds/requests.go",
			Old:  "		sub.sent = cloneText(versions[name])\n",
			New: `		if sub.sent = cloneText(versions[name]); sub.sent != "" {
			sub.sent = sub.follow().Version
		}
`,
		}},
	},
	{
		Name:      "unsent-assignment",
		Fault:     "An open stream isn't sent a ClusterLoadAssignment that has one endpoint more; a new stream is.",
		Validator: "V9",
		Profile:   "calm",
		Test:      "xds TestPacing",
		Edits: []Edit{{
			File: "xds/view.go",
			Old:  "	v.current.Store(f)\n	for sub := range v.subscribers {\n",
			New: `	before := v.current.Swap(f)
	for sub := range v.subscribers {
		if before != nil && len(f.usable) == len(before.usable)+1 {
			continue
		}
`,
		}},
	},
	{
		Name:      "version-of-process",
		Fault:     "The version of a resource is where it is in memory, so that it means something else in each replica.",
		Validator: "V10",
		Profile:   "calm",
		Test:      "xds TestOneResponsePerChange",
		Edits: []Edit{
			{
				File: "xds/frame.go",
				Old:  "	fields := appendIdentity(nil, r)\n",
				New:  "	r.Version = fmt.Sprintf(\"%p\", r.Wire)\n	fields := appendIdentity(nil, r)\n",
			},
			{
				File: "xds/frame.go",
				Old:  "import (\n",
				New:  "import (\n	\"fmt\"\n",
			},
		},
	},
}
