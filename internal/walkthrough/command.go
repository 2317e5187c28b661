package walkthrough

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// subcommands are the subcommands of go that work in a copy of the repository.
var subcommands = []string{"build", "generate", "run", "test", "vet"}

func parseCommands(step Step) (Step, error) {
	step.Kind = Run
	var errs []error
	for i, text := range step.Lines {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		words, err := splitWords(text)
		if err == nil {
			err = checkCommand(words)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("command %q: %w", text, err))
			continue
		}
		step.Commands = append(step.Commands, Command{Line: step.Line + 1 + i, Words: words})
	}
	if len(errs) == 0 && len(step.Commands) == 0 {
		errs = append(errs, errors.New("the block has no command: add one, or leave the word run out"))
	}
	return step, errors.Join(errs...)
}

func checkCommand(words []string) error {
	if len(words) < 2 || words[0] != "go" || !slices.Contains(subcommands, words[1]) {
		return fmt.Errorf("only go %s can be run: put other commands into a block without the word run", strings.Join(subcommands, ", go "))
	}
	return nil
}

// splitWords splits a line into words as a shell does. Characters with a meaning for shells must be in single
// quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quoted := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			begun, quoted = true, !quoted
		case quoted:
			word.WriteRune(r)
		case r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case strings.ContainsRune("\"\\$`|&;<>()*?[]{}~!#\t", r):
			return nil, fmt.Errorf("the character %q means something to a shell: put the word between single quotes", r)
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quoted {
		return nil, errors.New("a single quote is missing")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
