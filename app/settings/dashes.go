package settings

import "strings"

// TwoDashes returns the arguments with two dashes before every flag. takesValue reports
// whether the next argument is the value of a flag that has no equals sign. Such a value is
// left as it is, even if it begins with a dash.
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
