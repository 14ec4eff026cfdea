package tools

import (
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// maxLockName is the maximum length in bytes of the name of a lock that the host accepts.
const maxLockName = 256

// sweepAge is the minimum age of the temporary files that a call without the lock removes. No call runs that long, so
// no other call still writes them.
const sweepAge = time.Hour

// lock makes other calls that change the same project wait until this call ends. The lock belongs to the .chant
// directory itself, so it excludes the calls of all servers and users. A call must take the lock before it reads specs:
// otherwise two calls could read the same content, and the update of one of them would be lost. Then lock completes
// or rolls back an interrupted call, and removes temporary files of interrupted calls.
//
// On a host without locks, lock only removes temporary files; store.ErrChanged then detects most races.
func lock(dir store.Dir) error {
	path, err := dir.Real()
	if err != nil {
		return fmt.Errorf("cannot lock the project: %w", err)
	}
	age := sweepAge
	err = sdk.LockFolder(lockName(path), path)
	switch {
	case err == nil:
		age = 0
	case sdk.ErrorCode(err) == abi.HostDenied: // the directory is not writable, so this call will fail when it writes
		err = sdk.Lock(lockName(path))
	}
	if err != nil && sdk.ErrorCode(err) != abi.HostUnavailable {
		return fmt.Errorf("cannot lock the project: %w", err)
	}
	if err := dir.Recover(age); err != nil {
		return fmt.Errorf("an interrupted call cannot be completed or rolled back: %w", err)
	}
	if err := dir.Sweep(age); err != nil {
		sdk.Log(sdk.LevelDebug, "cannot remove temporary files of interrupted calls: %v", err) // the remaining temporary files are harmless
	}
	return nil
}

// lockName returns the name of the lock for the .chant directory at a resolved path.
func lockName(path string) string {
	const prefix = "specs "
	if len(prefix)+len(path) > maxLockName {
		path = digest.Hex([]byte(path))
	}
	return prefix + path
}
