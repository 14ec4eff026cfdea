package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxLockName is the most that a lock's name may have, in bytes.
const maxLockName = 256

// lock keeps other calls that change the same project, in this server or another, waiting until this one
// ends. It is taken before anything is read: a change is made to what was read, so of two that read the
// same, one would be lost. A host without locks does without.
func lock(dir store.Dir) error {
	folder, err := dir.Real()
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	err = sdk.Lock(lockName(folder))
	var refused *sdk.HostError
	if errors.As(err, &refused) && refused.Code == abi.HostUnavailable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	return nil
}

// lockName returns the name of the lock for the .chant folder at an absolute path without links.
func lockName(folder string) string {
	const prefix = "specs "
	if len(prefix)+len(folder) > maxLockName {
		sum := sha256.Sum256([]byte(folder))
		folder = hex.EncodeToString(sum[:])
	}
	return prefix + folder
}
