package settings

import "strings"

// TwoDashes gives every flag two dashes. takesValue reports whether the flag of that
// name is followed by a value when it has no equals sign: the value is left as it is,
// even when it starts with a dash.
func TwoDashes(args []string, takesValue func(name string) bool) []string {
	normal := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		if args[i] == "--" {
			return append(normal, args[i:]...)
		}
		if !isFlag || name == "" {
			normal = append(normal, args[i])
			continue
		}
		if name == "h" {
			name = "help"
		}
		normal = append(normal, "--"+name)
		if !strings.Contains(name, "=") && takesValue(name) && i+1 < len(args) {
			i++
			normal = append(normal, args[i])
		}
	}
	return normal
}
