package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxLockName is the host's limit of a lock's name, in bytes.
const maxLockName = 256

// sweepAge is the age from which temporary files are removed by a call that may not be alone: no call lasts as long.
const sweepAge = time.Hour

// lock makes other calls that change the same project wait until this call ends: in this server or another, also of
// another user or with another state directory, since the .chant directory itself is locked. It must be acquired before
// specs are read: otherwise of two calls that read the same content one update would be lost. Then it removes temporary
// files of interrupted calls.
//
// On a host without locks it does nothing else; store.ErrChanged then detects most races.
func lock(dir store.Dir) error {
	path, err := dir.Real()
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	age := sweepAge
	err = sdk.LockFolder(lockName(path), path)
	switch {
	case err == nil:
		age = 0
	case code(err) == abi.HostDenied: // the call fails when it writes
		err = sdk.Lock(lockName(path))
	}
	if err != nil && code(err) != abi.HostUnavailable {
		return fmt.Errorf("lock the project: %w", err)
	}
	if err := dir.Sweep(age); err != nil {
		sdk.Log(sdk.LevelDebug, "temporary files are not removed: %v", err) // they do no harm
	}
	return nil
}

// code returns the code of the host's refusal; "" if err is nil or none.
func code(err error) string {
	var refused *sdk.HostError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
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
