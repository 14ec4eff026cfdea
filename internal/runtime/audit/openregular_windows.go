package audit

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

func checkPermissions(string, fs.FileInfo, fs.FileMode) error { return nil } // on Windows, package os derives the mode from the read-only attribute

// checkOpen refuses a file that other users can change. It does not check whether they can read the file.
func checkOpen(path string, f *os.File) error {
	if !ownedpath.IsPrivate(f) {
		return fmt.Errorf("%s belongs to or can be changed by another user: check its content, then take ownership of it and remove that user's rights, or use a file in your home directory", path)
	}
	return nil
}
