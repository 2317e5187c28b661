package dns

// LabelInstance is the label that says which process, of all that have the owner ID, has written the
// ownership record: that of another cluster has another one. ExternalDNS keeps the label and ignores it.
const LabelInstance = "instance"

// OtherInstance returns the instance in the labels of a record set if it is another one than ours. It is
// empty if there is none in the labels, or if our own isn't known: then nobody can tell.
func OtherInstance(labels map[string]string, ours string) string {
	if its := labels[LabelInstance]; ours != "" && its != ours {
		return its
	}
	return ""
}
