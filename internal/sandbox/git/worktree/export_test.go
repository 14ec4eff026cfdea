//go:build unix

package worktree

import (
	"context"
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

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

// Restat returns an index whose entry has the stat data of a file.
func Restat(t *testing.T, data []byte, file, entry string) []byte {
	t.Helper()
	x, err := parseIndex(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := beneath.StatFile(f)
	if err != nil {
		t.Fatal(err)
	}
	i, ok := x.find(entry)
	if !ok {
		t.Fatalf("no entry %s", entry)
	}
	x.entries[i].stat = statOf(st)
	return x.encode()
}

// RecordResolved adds a resolved conflict of the file "a" to the content of the extension REUC.
func RecordResolved(undo []byte) []byte {
	x := &index{undo: undo}
	x.recordResolved([]indexEntry{{name: "a", stage: 2, mode: 0o100644}})
	return x.undo
}
