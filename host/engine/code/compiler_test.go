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

	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

// The test binary runs itself as compilers that do more or less than ChildMain, and as another host. The arguments are
// roleArgument, what to do, a directory that they share with the test, and those of a Store.
const roleArgument = "test-role"

func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != roleArgument {
		os.Exit(m.Run())
	}
	os.Exit(act(os.Args[2], os.Args[3], os.Args[4:]))
}

func act(role, dir string, args []string) int {
	if role == "host" {
		return actHost(dir, args)
	}
	config, err := parseChild(args)
	if err != nil {
		panic(err)
	}
	mark(dir, "started-"+pid())
	switch role {
	case "compile":
	case "gate": // compiles once the test says so
		mark(dir, "running-"+pid())
		go endWithHost()
		for !exists(filepath.Join(dir, "go")) {
			time.Sleep(time.Millisecond)
		}
		os.Remove(filepath.Join(dir, "running-"+pid()))
		return 0 // having left nothing
	case "gate-and-compile":
		mark(dir, "running-"+pid())
		for !exists(filepath.Join(dir, "go")) {
			time.Sleep(time.Millisecond)
		}
		os.Remove(filepath.Join(dir, "running-"+pid()))
	case "killed-once":
		if os.Mkdir(filepath.Join(dir, "killed"), 0o700) == nil {
			getSignal(dir, syscall.SIGKILL)
		}
	case "killed":
		getSignal(dir, syscall.SIGKILL)
	case "stopped":
		getSignal(dir, syscall.SIGSTOP)
	case "crashed":
		panic("of the compiler")
	case "endless":
		if _, err := confineTo(config); err != nil {
			panic(err)
		}
		for n := 0; ; n++ { // until its limit ends it
			_ = n
		}
	case "greedy":
		if _, err := confineTo(config); err != nil {
			panic(err)
		}
		for kept := [][]byte{}; ; {
			kept = append(kept, make([]byte, 256<<20))
		}
	default: // leaves what nobody asked for
		if err := child(config, os.Stdin); err != nil {
			panic(err)
		}
		leave(role, config.Dir)
		return 0
	}
	return childExit(complain(child(config, os.Stdin)))
}

// pid is what the test process knows this process by, which may be the first in a namespace of its own. /proc is the
// test's still.
func pid() string {
	if pid, err := os.Readlink("/proc/self"); err == nil {
		return pid
	}
	return strconv.Itoa(os.Getpid())
}

// signalPrefix begins the names of files by which a process asks the test for a signal: the first process of a
// namespace can send itself none.
const signalPrefix = "signal-"

func getSignal(dir string, signal syscall.Signal) {
	name := fmt.Sprintf("%s%d-%s", signalPrefix, signal, pid())
	for mark(dir, name); exists(filepath.Join(dir, name)); {
		time.Sleep(time.Millisecond)
	}
}

// sendSignals sends the signals that processes ask for, until the test ends.
func (w *world) sendSignals() {
	for ; w.t.Context().Err() == nil; time.Sleep(time.Millisecond) {
		asked, err := filepath.Glob(filepath.Join(w.dir, signalPrefix+"*"))
		for _, path := range asked {
			var signal, pid int
			if _, err = fmt.Sscanf(filepath.Base(path), signalPrefix+"%d-%d", &signal, &pid); err == nil {
				if err = syscall.Kill(pid, syscall.Signal(signal)); errors.Is(err, syscall.ESRCH) {
					err = nil // the compiler was ended meanwhile
				}
				err = errors.Join(err, os.Remove(path))
			}
		}
		if err != nil {
			w.t.Error(err)
		}
	}
}

func complain(err error) error {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err
}

// endWithHost ends a compiler that reads no module.
func endWithHost() {
	if _, err := readFrame(os.Stdin); err != nil {
		os.Exit(exitOrphan)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(exitOrphan)
}

// actHost compiles a module, and is killed meanwhile.
func actHost(dir string, args []string) int {
	s, err := Open(Config{Dir: args[0], Compiler: compiler("gate", dir)})
	if err == nil {
		_, err = s.Ensure(context.Background(), Module{File: args[1]}, Foreground)
	}
	complain(err)
	return 1
}

// leave adds to what a compiler wrote.
func leave(what, dir string) {
	var err error
	at := func(name string) string { return filepath.Join(dir, name) }
	switch what {
	case "leaves a symbolic link":
		err = os.Symlink("/etc/passwd", at("link"))
	case "leaves a link in place of the module":
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
	case "leaves a directory that nobody may enter":
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

// compiler is a command that does what act says.
func compiler(role, dir string) []string {
	return []string{os.Args[0], roleArgument, role, dir}
}

// world is a cache, a directory shared with fake compilers, and modules.
type world struct {
	t                 *testing.T
	cache, dir, files string
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	w := &world{t, filepath.Join(dir, "cache"), filepath.Join(dir, "shared"), filepath.Join(dir, "modules")}
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

// open opens a store whose compilers do what role says.
func (w *world) open(role string, change ...func(*Config)) *Store {
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

// module writes a module, another one for each name.
func (w *world) module(name string) Module {
	w.t.Helper()
	return w.raw(name, wasmtest.Answering(`{"result":"`+name+`"}`))
}

func (w *world) raw(name string, content []byte) Module {
	w.t.Helper()
	m := Module{Name: name, File: filepath.Join(w.files, name+".wasm")}
	if err := os.WriteFile(m.File, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return m
}

// count tells how many files in the shared directory begin with prefix.
func (w *world) count(prefix string) int {
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

// leftovers are the directories that compilers are at work in.
func (w *world) leftovers() []string {
	found, err := filepath.Glob(filepath.Join(w.cache, newPrefix+"*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// until waits for what must come true; that it does not is noticed by the deadline of the tests.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}
