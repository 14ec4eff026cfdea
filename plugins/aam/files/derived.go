package files

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

// maxDerived is the maximum size of a file for Derived, in bytes. For a larger file the host could run the function and
// then discard the result, because the host has limits of its own.
const maxDerived = 1 << 20

// Derived returns the result of the derive function f for the file at path, which is below the directory folder. The
// host caches the result until the file changes. Derived returns false if the file is too large or cannot be read, if
// path is a symbolic link, or if the directory of path resolves to a directory outside of folder. The caller must then
// use ReadInside, which reads the file or returns the error.
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
