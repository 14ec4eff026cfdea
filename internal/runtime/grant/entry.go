package grant

import (
	"os"
)

// entry is an entry of a directory: a directory or a symbolic link.
type entry struct {
	id     FileID
	file   *os.File // handle of the directory; nil for a symbolic link
	target string   // target of the symbolic link; empty for a directory
}
