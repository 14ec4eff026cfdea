package audit

import (
	"fmt"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/ownedpath"
)

func checkPermissions(string, fs.FileInfo, fs.FileMode) error { return nil } // modes are made up here: 0666, or 0444 if read-only

// checkOpen refuses a file that others can change. Whether they can read it is not checked.
func checkOpen(path string, f *os.File) error {
	if !ownedpath.IsPrivate(f) {
		return fmt.Errorf("%s belongs to or can be changed by another user: check its content, then take ownership of it and remove that user's rights, or use a file in your home directory", path)
	}
	return nil
}
