package vfs

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// datasync flushes the content of a file to disk.
func datasync(f *os.File) error { return beneath.Control(f, unix.Fdatasync) }
