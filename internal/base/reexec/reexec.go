// Package reexec runs functions of this program in child processes: the same executable, started with the name of
// the function as its first argument. Run must be the first call in main.
package reexec

import (
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
)

// prefix is the prefix of a child's first argument.
const prefix = "bulkhead-"

// Names of Mains.
const (
	Worker   = "worker"
	Compiler = "compile"
	Info     = "info"
)

// Main is the main function of a child; it returns the exit code.
type Main func(args []string) int

var (
	mu     sync.Mutex
	mains  map[string]Main
	called bool
)

// Run registers all Mains. In a child process it also runs the Main of the child and exits.
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

// Command returns the command line of a child that runs the Main with that name. It is nil if Run was not called,
// the name is not registered, or the executable is unknown.
func Command(name string, args ...string) []string {
	mu.Lock()
	defer mu.Unlock()
	if !called || mains[name] == nil {
		return nil
	}
	self, err := executable()
	if err != nil {
		return nil
	}
	return slices.Concat([]string{self, prefix + name}, args)
}

// IsTransient reports whether a process could not be started for lack of something that the system may have again later: processes, memory
// or open files.
func IsTransient(err error) bool {
	return slices.ContainsFunc([]error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}, func(target error) bool { return errors.Is(err, target) })
}
