package dns

// LabelInstance is the label with the instance that has written the ownership record, among all
// processes with the owner ID. Each cluster is an instance. ExternalDNS keeps the label and ignores
// it.
const LabelInstance = "instance"

// OtherInstance returns the instance in labels if it isn't ours. It is empty if labels have none,
// or if ours is unknown.
func OtherInstance(labels map[string]string, ours string) string {
	if its := labels[LabelInstance]; ours != "" && its != ours {
		return its
	}
	return ""
}
