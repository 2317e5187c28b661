package inspect

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/signpostd/signpost/internal/history"
)

var (
	changeKinds   = map[history.Kind]ChangeKind{history.Sent: ChangeSent, history.Record: ChangeRecord, history.Written: ChangeWrite}
	changeActions = map[history.Action]string{
		history.Created: "created", history.Updated: "updated", history.Deleted: "deleted", history.Failed: "failed", history.External: "external",
	}
)

// pastChange returns an entry as a change. previous is the previous change of the same record set;
// nil if unknown.
func pastChange(key history.Key, e, previous *history.Entry) PastChange {
	c := PastChange{
		At: e.At, Kind: changeKinds[e.Kind], Action: changeActions[e.Action], Subject: key.Name, Cluster: key.Cluster, Source: e.Source,
		Streams: e.Streams, Port: e.Port, Hostname: e.Hostname, ClientZone: e.ClientZone, ClientNode: e.ClientNode, NotReady: e.NotReady,
		Added: addressTexts(e.Added), Changed: addressTexts(e.Changed), Removed: addressTexts(e.Removed),
		MoreAdded: e.MoreAdded, MoreChanged: e.MoreChanged, MoreRemoved: e.MoreRemoved,
		Object: e.Object, Zone: e.Zone, Type: e.Type, SetIdentifier: e.SetIdentifier, TTL: e.TTL,
		Old: e.Old, New: e.New, MoreOld: e.MoreOld, MoreNew: e.MoreNew, Objects: e.Objects, By: e.By,
	}
	if key.Namespace != "" {
		c.Subject = key.Namespace + "/" + key.Name
	}
	switch e.Kind {
	case history.Sent:
		c.Endpoints = &e.Endpoints
		c.Text = c.sentText()
	case history.Written:
		if e.Action == history.Created || e.Action == history.Updated {
			c.Endpoints = &e.Endpoints
		}
		c.Text, c.Why = c.writeText(), e.Reason
	case history.Record:
		c.Text = c.recordText()
		c.Why = cmp.Or(e.Reason, recordWhy(e, previous))
	}
	return c
}

func addressTexts(list []netip.AddrPort) (texts []string) {
	for _, a := range list {
		if a.Port() == 0 {
			texts = append(texts, a.Addr().String())
		} else {
			texts = append(texts, a.String())
		}
	}
	return texts
}

// sentText describes the message that was sent to streams.
func (c *PastChange) sentText() string {
	of := ""
	switch {
	case c.Object != "":
		of = c.Type + " " + c.Object
	case c.Hostname != "":
		of = fmt.Sprintf("%s, port %d", c.Hostname, c.Port)
	default:
		of = fmt.Sprintf("port %d", c.Port)
	}
	if place := c.place(); place != "" {
		of += ", " + place
	}
	parts := c.addressParts()
	switch {
	case c.Action == "deleted":
		parts = append(parts, "does not exist")
	case c.Type != "" && c.Type != "eds":
		parts = append(parts, "another version")
	case *c.Endpoints == 0:
		parts = append(parts, "no endpoints left")
	default:
		parts = append(parts, Plural(*c.Endpoints, "endpoint"))
	}
	return of + ": " + strings.Join(parts, ", ")
}

func (c *PastChange) place() string {
	var parts []string
	if c.ClientNode != "" {
		parts = append(parts, "node "+c.ClientNode)
	}
	if c.ClientZone != "" {
		parts = append(parts, "zone "+c.ClientZone)
	}
	return strings.Join(parts, ", ")
}

// addressParts lists the addresses that were added, changed and removed.
func (c *PastChange) addressParts() (parts []string) {
	for _, p := range []struct {
		word string
		list []string
		more int
	}{{"added", c.Added, c.MoreAdded}, {"changed", c.Changed, c.MoreChanged}, {"removed", c.Removed, c.MoreRemoved}} {
		if len(p.list)+p.more > 0 {
			parts = append(parts, p.word+" "+listText(p.list, p.more))
		}
	}
	return parts
}

// maxListed limits the items of a list in a sentence.
const maxListed = 4

func listText(list []string, more int) string {
	shown := list[:min(len(list), maxListed)]
	text := strings.Join(shown, " ")
	if more += len(list) - len(shown); more > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s and %d more", text, more))
	}
	return text
}

// Plural returns a number with its noun, such as "2 streams".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// writeText describes a write of Endpoints or a slice.
func (c *PastChange) writeText() string {
	switch c.Action {
	case "external":
		return "changed by " + cmp.Or(c.By, "another writer") + ", to be repaired"
	case "failed":
		return c.Object + " failed"
	}
	parts := c.addressParts()
	if c.Endpoints != nil {
		parts = append(parts, fmt.Sprintf("%d ready, %d not ready", *c.Endpoints, c.NotReady))
	}
	return strings.TrimSuffix(c.Object+" "+c.Action+": "+strings.Join(parts, ", "), ": ")
}

func (c *PastChange) recordText() string {
	of := c.Type
	if c.SetIdentifier != "" {
		of += " (" + c.SetIdentifier + ")"
	}
	before, after := listText(c.Old, c.MoreOld), listText(c.New, c.MoreNew)
	switch c.Action {
	case "created":
		return of + " created: " + after
	case "deleted":
		return of + " deleted: " + before
	case "updated":
		return of + " updated: " + before + " → " + after
	default:
		return of + " not changed: " + cmp.Or(before, "nothing") + " → " + cmp.Or(after, "nothing")
	}
}

// recordWhy says why a record set was changed. If the zone had other targets than were published
// before, another writer had changed them.
func recordWhy(e, previous *history.Entry) string {
	if previous != nil && otherTargets(truncatedList{previous.New, previous.MoreNew}, truncatedList{e.Old, e.MoreOld}) {
		if len(e.Old) == 0 {
			return "another writer had deleted it"
		}
		return "another writer had changed it"
	}
	who := listText(e.Objects, 0)
	switch {
	case e.Action == history.Deleted:
		if who == "" {
			return "no object asks for it"
		}
		return "no object asks for it; before: " + who
	case who == "":
		return ""
	case e.Action == history.Updated && sameTargets(e.Old, e.New) && e.MoreOld+e.MoreNew == 0:
		return who + " asks for another TTL or other properties"
	case e.Action == history.Updated && sameTargets(e.Old, e.New) && e.MoreOld == e.MoreNew:
		return who + " asks for other targets or properties"
	case e.Action == history.Updated:
		return who + " asks for other targets"
	default:
		return who + " asks for it"
	}
}

// truncatedList has the first targets of a record set, in the order of their writer, and the number
// of the others.
type truncatedList struct {
	first []string
	more  int
}

// otherTargets reports whether two lists certainly differ.
func otherTargets(a, b truncatedList) bool {
	if a.more > 0 || b.more > 0 {
		return len(a.first)+a.more != len(b.first)+b.more
	}
	return !sameTargets(a.first, b.first)
}

// sameTargets compares targets regardless of order, case, quotes and final dots, which depend on
// the provider.
func sameTargets(a, b []string) bool {
	normal := func(list []string) []string {
		var all []string
		for _, t := range list {
			all = append(all, strings.ToLower(strings.Trim(t, `".`)))
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(normal(a), normal(b))
}
