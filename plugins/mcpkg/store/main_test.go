package store

import (
	"os"
	"testing"
)

// TestMain has temporary directories in memory where the system offers that: these tests make thousands.
func TestMain(m *testing.M) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm")
	}
	os.Exit(m.Run())
}
