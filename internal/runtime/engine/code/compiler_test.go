//go:build unix

package code

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// The test binary runs itself as fake compilers and as another host. The arguments are roleArgument, the role, a directory
// shared with the test, and the arguments that a Store appends.
const roleArgument = "test-role"

func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != roleArgument {
		testenv.UseMemoryUnlessAll()
		os.Exit(m.Run())
	}
	os.Exit(runRole(os.Args[2], os.Args[3], os.Args[4:]))
}

func runRole(role, dir string, args []string) int {
	if role == "host" {
		return runHost(dir, args)
	}
	config, err := parseChild(args)
	if err != nil {
		panic(err)
	}
	mark(dir, "started-"+pid())
	switch role {
	case "compile":
	case "info":
		return InfoMain(args)
	case "hanging": // run until the host ends or kills this process
		mark(dir, "running-"+pid())
		exitWithHost()
	case "gate-and-compile": // wait for the test, then compile
		mark(dir, "running-"+pid())
		for !exists(filepath.Join(dir, "go")) {
			time.Sleep(time.Millisecond)
		}
		os.Remove(filepath.Join(dir, "running-"+pid()))
	case "killed-once":
		if os.Mkdir(filepath.Join(dir, "killed"), 0o700) == nil {
			requestSignal(dir, syscall.SIGKILL)
		}
	case "killed":
		requestSignal(dir, syscall.SIGKILL)
	case "stopped":
		requestSignal(dir, syscall.SIGSTOP)
	case "crashed":
		panic("of the compiler")
	case "endless":
		if _, _, err := confineChild(config); err != nil {
			panic(err)
		}
		for n := 0; ; n++ { // until a resource limit ends the process
			_ = n
		}
	case "greedy":
		if _, _, err := confineChild(config); err != nil {
			panic(err)
		}
		for kept := [][]byte{}; ; {
			kept = append(kept, make([]byte, 256<<20))
		}
	default: // compile, then tamper with the output
		if err := child(config, os.Stdin, compileTo); err != nil {
			panic(err)
		}
		tamper(role, config.Dir)
		return 0
	}
	return childExit(printError(child(config, os.Stdin, compileTo)))
}

// pid returns the ID of this process in the PID namespace of the test. This process may be in a namespace of its own, but
// its /proc is still the test's.
func pid() string {
	if pid, err := os.Readlink("/proc/self"); err == nil {
		return pid
	}
	return strconv.Itoa(os.Getpid())
}

// signalPrefix is the prefix of the names of files by which a process requests a signal from the test. The init process of a
// PID namespace cannot signal itself.
const signalPrefix = "signal-"

func requestSignal(dir string, signal syscall.Signal) {
	name := fmt.Sprintf("%s%d-%s", signalPrefix, signal, pid())
	for mark(dir, name); exists(filepath.Join(dir, name)); {
		time.Sleep(time.Millisecond)
	}
}

// sendSignals sends the requested signals until the test ends.
func (w *env) sendSignals() {
	for ; w.t.Context().Err() == nil; time.Sleep(time.Millisecond) {
		asked, err := filepath.Glob(filepath.Join(w.dir, signalPrefix+"*"))
		for _, path := range asked {
			var signal, pid int
			if _, err = fmt.Sscanf(filepath.Base(path), signalPrefix+"%d-%d", &signal, &pid); err == nil {
				if err = syscall.Kill(pid, syscall.Signal(signal)); errors.Is(err, syscall.ESRCH) {
					err = nil // the compiler has already ended
				}
				err = errors.Join(err, os.Remove(path))
			}
		}
		if err != nil {
			w.t.Error(err)
		}
	}
}

func printError(err error) error {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}

// exitWithHost exits when stdin is closed.
func exitWithHost() {
	if _, err := readFrame(os.Stdin); err != nil {
		os.Exit(exitOrphan)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(exitOrphan)
}

// runHost acts as a host that compiles a module. The test kills it during the compilation.
func runHost(dir string, args []string) int {
	s, err := Open(Config{Dir: args[0], Compiler: compiler("hanging", dir)})
	if err == nil {
		_, err = s.Ensure(context.Background(), Module{File: args[1]}, Foreground)
	}
	printError(err)
	return 1
}

// tamper changes the output of a compiler.
func tamper(what, dir string) {
	var err error
	at := func(name string) string { return filepath.Join(dir, name) }
	switch what {
	case "leaves a symbolic link":
		err = os.Symlink("/etc/passwd", at("link"))
	case "leaves a link instead of the module":
		err = os.Rename(at(moduleFile), at(factsFile))
		if err == nil {
			err = os.Symlink("/etc/passwd", at(moduleFile))
		}
	case "leaves a FIFO":
		err = os.Remove(at(factsFile))
		if err == nil {
			err = syscall.Mkfifo(at(factsFile), 0o600)
		}
	case "leaves digests":
		err = os.WriteFile(at(sumsFile), []byte("{}"), 0o600)
	case "leaves many files":
		for n := range 100 {
			mark(dir, fmt.Sprintf("wazero-%d", n))
		}
	case "leaves no module":
		err = os.Remove(at(moduleFile))
	case "leaves too many facts":
		err = os.Truncate(at(factsFile), maxFacts+1)
	case "leaves an inaccessible directory":
		err = os.MkdirAll(at("closed/below"), 0o700)
		if err == nil {
			err = os.Chmod(at("closed"), 0)
		}
	default:
		panic(what)
	}
	if err != nil {
		panic(err)
	}
}

func mark(dir, name string) {
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		panic(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// compiler returns the command of a fake compiler.
func compiler(role, dir string) []string {
	return []string{os.Args[0], roleArgument, role, dir}
}

// env is a test environment: a cache, a directory shared with fake compilers, and a directory of modules.
type env struct {
	t                 *testing.T
	cache, dir, files string
}

func newEnv(t *testing.T) *env {
	dir := t.TempDir()
	w := &env{t, filepath.Join(dir, "cache"), filepath.Join(dir, "shared"), filepath.Join(dir, "modules")}
	for _, dir := range []string{w.dir, w.files} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var signals sync.WaitGroup
	signals.Go(w.sendSignals)
	t.Cleanup(signals.Wait) // the context of the test has ended
	return w
}

// open opens a store with compilers of a role.
func (w *env) open(role string, change ...func(*Config)) *Store {
	w.t.Helper()
	c := Config{Dir: w.cache, Compiler: compiler(role, w.dir)}
	for _, change := range change {
		change(&c)
	}
	s, err := Open(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return s
}

// module writes a module whose content depends on its name.
func (w *env) module(name string) Module {
	w.t.Helper()
	return w.raw(name, wasmtest.Answering(`{"result":"`+name+`"}`))
}

func (w *env) raw(name string, content []byte) Module {
	w.t.Helper()
	m := Module{Name: name, File: filepath.Join(w.files, name+".wasm")}
	if err := os.WriteFile(m.File, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// count returns the number of files in the shared directory whose names begin with prefix.
func (w *env) count(prefix string) int {
	w.t.Helper()
	items, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, item := range items {
		if strings.HasPrefix(item.Name(), prefix) {
			n++
		}
	}
	return n
}

// leftovers returns the temporary directories of unfinished compilations.
func (w *env) leftovers() []string {
	found, err := filepath.Glob(filepath.Join(w.cache, newPrefix+"*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// until waits for a condition.
func (w *env) until(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("timed out: %s", what)
		}
	}
}
