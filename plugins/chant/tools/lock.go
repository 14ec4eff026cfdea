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

// maxLockName is the host's limit of a lock's name, in bytes.
const maxLockName = 256

// lock makes other calls that change the same project, in this server or another, wait until this call ends. It must
// be acquired before specs are read: otherwise of two calls that read the same content one update would be lost. On a
// host without locks it does nothing; store.ErrChanged then detects most races.
func lock(dir store.Dir) error {
	path, err := dir.Real()
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	err = sdk.Lock(lockName(path))
	var refused *sdk.HostError
	if errors.As(err, &refused) && refused.Code == abi.HostUnavailable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	return nil
}

// lockName returns the name of the lock of the .chant directory with a resolved path.
func lockName(path string) string {
	const prefix = "specs "
	if len(prefix)+len(path) > maxLockName {
		sum := sha256.Sum256([]byte(path))
		path = hex.EncodeToString(sum[:])
	}
	return prefix + path
}
