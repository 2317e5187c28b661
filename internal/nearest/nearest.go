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

// editDistance is the number of bytes to insert, delete or replace, or of neighbours to swap, to turn a into
// b. A swap is one typing mistake.
func editDistance(a, b string) int {
	var before, last []int // the rows above row
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
