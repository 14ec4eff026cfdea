//go:build unix

package worktree

import "context"

// ParseIndex parses an index and returns its paths.
func ParseIndex(ctx context.Context, data []byte) ([]string, error) {
	x, err := parseIndex(ctx, data)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range x.entries {
		names = append(names, e.name)
	}
	return names, nil
}
