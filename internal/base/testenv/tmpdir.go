package testenv

import "os"

// memory is a file system in memory on Linux.
const memory = "/dev/shm"

// UseMemory makes tests create their temporary directories in memory, where system calls on files take a fraction of the time, if
// the system has room there, permits to execute files, and $TMPDIR is unset. It is for the TestMain of tests that create many
// files.
func UseMemory() {
	if os.Getenv("TMPDIR") == "" && isSuitable(memory) {
		os.Setenv("TMPDIR", memory)
	}
}

// UseMemoryUnlessAll does so for tests that are about files: in the tier of all tests they run on a disk.
func UseMemoryUnlessAll() {
	if !IsAll() {
		UseMemory()
	}
}
