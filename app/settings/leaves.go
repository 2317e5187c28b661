package settings

import "strings"

// Leaves returns the errors that are joined in err, recursively.
func Leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	text := make([]string, 0, 2)
	for _, e := range joined.Unwrap() {
		all = append(all, Leaves(e)...)
		text = append(text, e.Error())
	}
	if strings.Join(text, "\n") != err.Error() {
		return []error{err} // one error that wraps several
	}
	return all
}
