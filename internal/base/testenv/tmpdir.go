package testenv

import "os"

// UseMemory makes tests create their temporary directories in memory, if the system supports that and $TMPDIR is unset. It is for
// the TestMain of tests that create thousands of files.
func UseMemory() {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", "/dev/shm")
	}
}
