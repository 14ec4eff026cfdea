//go:build !amd64 && !arm64

package confine

const noList = missingError("there is no list of allowed system calls for this architecture")

func installFilter() error { return noList }

func probeSeccomp() error { return noList }

func signalThreads(int, uintptr, uintptr, uintptr, uintptr) error {
	return missingError("a program with cgo cannot restrict all threads on this architecture")
}
