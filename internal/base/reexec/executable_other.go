//go:build !linux

package reexec

import "os"

func executable() (string, error) { return os.Executable() }
