package client

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// backupDir is the name of the directory of backups, below the state directory. A backup may contain credentials of other servers.
// If it were beside the file, it could be committed to the repository that contains the file.
const backupDir = ".clients"

// backUp saves a copy of the file, if it exists.
func (c *Change) backUp() error {
	if !c.file.Exists {
		return nil
	}
	if c.system.State == "" {
		why := cmp.Or(c.system.NoState, "there is no state directory: set HOME or XDG_STATE_HOME to a directory of yours")
		return usage.Errorf("%s is unchanged, because no backup of it can be saved: %s", c.File, why)
	}
	dir := filepath.Join(c.system.State, backupDir)
	if err := ownedpath.Make(dir); err != nil {
		return usage.Errorf("%s is unchanged, because no backup of it can be saved: %s", c.File, ownedpath.Explain(err))
	}
	name := time.Now().UTC().Format("20060102-150405.000000000") + "-" + c.Client + "-" + strings.TrimPrefix(filepath.Base(c.File), ".")
	path := filepath.Join(dir, name)
	if err := atomicfile.Create(path, c.file.Data, atomicfile.Options{Mode: 0o600}); err != nil {
		return usage.Errorf("%s is unchanged, because no backup of it can be saved: %w", c.File, err)
	}
	c.Backup = path
	return nil
}
