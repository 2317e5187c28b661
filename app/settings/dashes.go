package settings

import "strings"

// TwoDashes returns the arguments with two dashes before every flag. takesValue reports whether a
// flag without an equals sign takes the next argument as its value, which is then left unchanged,
// even if it begins with a dash.
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
