package overlay

// sliceMutants write slices and Endpoints: V5.
var sliceMutants = []Mutant{
	{
		Name:      "overlay-forgets",
		Fault:     "The overlay of own writes forgets them at once: plans are made from what the watch has delivered.",
		Validator: "V5",
		Profile:   "mixed",
		Test:      "controllers/reconcile TestWriteIsReadWhileTheTableCatchesUp",
		Edits: []Edit{{
			File: "controllers/reconcile/overlay.go",
			Old:  "	unseen := o.unseen(service)\n",
			New:  "	o.unseen(service)\n	unseen := map[string]write[T]{}\n",
		}},
	},
	{
		Name:      "unconditional-write",
		Fault:     "Updates of slices and Endpoints have no resourceVersion, and deletions no precondition: they hit whatever is there.",
		Validator: "V5",
		Profile:   "split-brain",
		Test:      "controllers/slices TestDelete",
		Edits: []Edit{
			{
				File: "controllers/writeclient/writeclient.go",
				Old:  "	made := P(new(T))\n",
				New: `	made := P(new(T))
	sent := *what
	what = P(&sent)
	what.SetResourceVersion("")
`,
			},
			{
				File: "controllers/slices/store.go",
				Old:  "		Preconditions: &metav1.Preconditions{UID: &e.UID, ResourceVersion: &e.ResourceVersion},\n",
				New:  "",
			},
		},
	},
	{
		Name:      "deletes-foreign",
		Fault:     "Slices of somebody who is no controller count as a controller's own, which deletes them.",
		Validator: "V5",
		Profile:   "mixed",
		Test:      "controllers/slices TestNamesOfOtherWriters",
		Edits: []Edit{
			{
				File: "controllers/slices/store.go",
				Old:  "func (s *Store) manages(e *watched.Slice) bool { return e.ManagedBy == s.o.ManagedBy }\n",
				New: `func (s *Store) manages(e *watched.Slice) bool { return takes(e.ManagedBy, s.o.ManagedBy) }

func takes(manager, controller string) bool {
	return manager == controller || !strings.Contains(manager, "-controller")
}
`,
			},
			{
				File: "controllers/slices/store.go",
				Old:  "			e.Labels[discoveryv1.LabelManagedBy] != manager || e.DeletionTimestamp != nil\n",
				New:  "			!takes(e.Labels[discoveryv1.LabelManagedBy], manager) || e.DeletionTimestamp != nil\n",
			},
			{
				File: "controllers/slices/store.go",
				Old:  "	\"slices\"\n	\"sync\"\n",
				New:  "	\"slices\"\n	\"strings\"\n	\"sync\"\n",
			},
		},
	},
	{
		Name:      "lost-wakeup",
		Fault:     "A change of a pod that comes while its Service is being synced is lost.",
		Validator: "V1",
		Profile:   "mixed",
		Test:      "controllers/reconcile TestChangesDuringASync",
		Edits: []Edit{{
			File: "controllers/reconcile/loop.go",
			Old:  "		t.queue.AddAfter(Key{Namespace: namespace, Name: name}, l.o.BatchPeriod)\n",
			New: `		key := Key{Namespace: namespace, Name: name}
		t.mu.Lock()
		underway := t.flights[key] != nil
		t.mu.Unlock()
		if !underway {
			t.queue.AddAfter(key, l.o.BatchPeriod)
		}
`,
		}},
	},
}
