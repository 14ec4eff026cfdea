package files

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// maxDerived bounds the size of a file for Derived, in bytes: larger ones exceed bounds of the host, which would run the
// function in vain.
const maxDerived = 1 << 20

// Derived returns the result of a derive function for a file below the directory folder, which the host keeps while the
// file is unchanged. It returns false if the file is large, cannot be read, or is reached by a symbolic link out of folder
// or at the end of path: use ReadInside, which reads the file or returns the error.
func Derived[T any](s System, f *derive.Func[T], folder, path string) (value T, ok bool) {
	dir, err := Inside(s, folder, filepath.Dir(path))
	if err != nil {
		return value, false
	}
	name := filepath.Base(path)
	for entry, err := range f.Scan(dir, scan.Options{Match: []string{name}, MaxFile: maxDerived}) {
		if err != nil {
			break
		}
		if entry.Path == name {
			return entry.Value, entry.Derived
		}
	}
	return value, false
}
