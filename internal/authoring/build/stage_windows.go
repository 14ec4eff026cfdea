package build

import (
	"errors"
	"os"
)

// lockDirectory fails: Windows has no locks on directories.
func lockDirectory(*os.File) error { return errors.ErrUnsupported }
