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

// EncodeIndex parses an index and encodes it again.
func EncodeIndex(ctx context.Context, data []byte) ([]byte, error) {
	x, err := parseIndex(ctx, data)
	if err != nil {
		return nil, err
	}
	return x.encode(), nil
}
