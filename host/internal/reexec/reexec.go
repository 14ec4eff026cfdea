// Package reexec runs parts of this program in processes of their own: the same executable, started again with a
// name as its first argument. Run must be the first call in main.
package reexec

import (
	"os"
	"runtime"
	"slices"
	"sync"
)

// prefix begins the first argument of such a process.
const prefix = "bulkhead-"

// The names of mains.
const (
	Worker   = "worker"
	Compiler = "compile"
)

// Main is what such a process runs; it returns the exit code.
type Main func(args []string) int

var (
	mu     sync.Mutex
	mains  map[string]Main
	called bool
)

// Run runs the main that the process was started for, and does not return then. Otherwise it does nothing.
func Run(all map[string]Main) {
	mu.Lock()
	mains, called = all, true
	mu.Unlock()
	if len(os.Args) < 2 || len(os.Args[1]) <= len(prefix) || os.Args[1][:len(prefix)] != prefix {
		return
	}
	if main, ok := all[os.Args[1][len(prefix):]]; ok {
		os.Exit(main(os.Args[2:]))
	}
}

// Command is the command line of a process that runs the main of a name; nil where Run was not called, or the
// executable is not known.
func Command(name string, args ...string) []string {
	mu.Lock()
	defer mu.Unlock()
	if !called || mains[name] == nil {
		return nil
	}
	self, err := os.Executable()
	if runtime.GOOS == "linux" {
		self, err = "/proc/self/exe", nil // the same one, though its file may have been replaced
	}
	if err != nil {
		return nil
	}
	return slices.Concat([]string{self, prefix + name}, args)
}
