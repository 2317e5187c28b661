package nearest

import "strings"

// Of returns the candidate that name abbreviates, else the one with the smallest edit distance to name, the
// first of several. It returns false if all candidates differ too much.
func Of(name string, candidates []string) (string, bool) {
	const shortest = 3 // shortest accepted abbreviation
	best, least := "", len(name)/2+1
	for _, c := range candidates {
		if len(name) >= shortest && strings.HasPrefix(c, name) {
			return c, true
		}
		if d := editDistance(name, c); d < least {
			best, least = c, d
		}
	}
	return best, best != ""
}

// editDistance is the Levenshtein distance: the number of bytes to insert, delete or replace to turn a into
// b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
