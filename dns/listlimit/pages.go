package listlimit

// Pages reads all pages of a list. page requests the page of a token, which is empty for the first
// one. It returns the entries and the token of the next page, or an empty one. size returns the
// memory of an entry in bytes.
func Pages[T any](l *Listing, size func(T) int, page func(token string) (entries []T, next string, err error)) (all []T, err error) {
	for token := ""; ; {
		entries, next, err := page(token)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := l.Add(1, size(e)); err != nil {
				return nil, err
			}
		}
		all = append(all, entries...)
		if next == "" {
			return all, nil
		}
		if err := l.Page(next); err != nil {
			return nil, err
		}
		token = next
	}
}
