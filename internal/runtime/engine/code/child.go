package code

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// Exit codes of a child. If a child ends in any other way, it is unknown whether the module is valid.
const (
	exitInvalid = 1
	exitStorage = 9
	exitOrphan  = 10 // the host is dead
)

const (
	// compilerMemory limits the writable memory of a child (RLIMIT_DATA), in bytes.
	compilerMemory = 3 << 30
	// spareSpace is the address space of a child beyond compilerMemory and what the process has mapped at its start.
	spareSpace = 2 << 30
	// threadsBase is the limit of a child's threads without those that compile.
	threadsBase = 128
)

// childThreads returns the limit of the threads of a child.
func childThreads(workers int) uint64 { return threadsBase + 2*uint64(workers) }

// childConfig is the parsed command line of a child.
type childConfig struct {
	Dir     string // output directory, empty
	Workers int
	CPU     time.Duration
}

// parseChild reads the arguments that a Store appends to Config.Compiler.
func parseChild(args []string) (childConfig, error) {
	if len(args) != 3 {
		return childConfig{}, errors.New("the compiler requires the arguments DIR WORKERS SECONDS")
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil || workers < 1 {
		return childConfig{}, fmt.Errorf("workers: %q is not a positive integer", args[1])
	}
	seconds, err := strconv.Atoi(args[2])
	if err != nil || seconds < 1 {
		return childConfig{}, fmt.Errorf("seconds: %q is not a positive integer", args[2])
	}
	return childConfig{Dir: args[0], Workers: workers, CPU: time.Duration(seconds) * time.Second}, nil
}

// ChildMain is the main function of the child process that compiles. args are the arguments that a Store appends to
// Config.Compiler. It returns the exit code.
func ChildMain(args []string) int { return childMain(args, compileTo) }

// work is what a child does with a module: it writes files to dir.
type work func(module []byte, dir string, workers int) error

func childMain(args []string, do work) int {
	c, err := parseChild(args)
	if err == nil {
		err = child(c, os.Stdin, do)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return childExit(err)
}

// child reads a module from stdin, and does its work in c.Dir. The process exits when stdin is closed.
func child(c childConfig, stdin io.Reader, do work) error {
	dir, report, err := confineChild(c)
	if err == nil {
		err = writeReport(report)
	}
	if err != nil {
		return err
	}
	module, err := readFrame(stdin)
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		os.Exit(exitOrphan)
	}()
	return do(module, dir, c.Workers)
}

// childExit returns the exit code for an error of child.
func childExit(err error) int {
	switch {
	case err == nil:
		return 0
	case isStorage(err):
		return exitStorage
	case errors.Is(err, errTruncated):
		return exitOrphan
	}
	return exitInvalid
}

// isStorage reports whether err is an error of the file system.
func isStorage(err error) bool {
	path, number := (*fs.PathError)(nil), syscall.Errno(0)
	return errors.As(err, &path) || errors.As(err, &number)
}

// confineChild restricts the process to its standard streams and its output directory, and returns the path that the
// output directory then has.
func confineChild(c childConfig) (dir string, report confine.Report, err error) {
	root, err := os.OpenFile(c.Dir, os.O_RDONLY|platform.Directory, 0)
	if err != nil {
		return "", nil, err
	}
	defer root.Close()
	report, err = confine.Apply(confine.Config{
		Root: &confine.Dir{FD: int(root.Fd()), Write: true}, Keep: []int{},
		Memory: compilerMemory, AddressSpace: compilerMemory + spareSpace, Threads: childThreads(c.Workers), OpenFiles: 64,
		FileSize: maxCode, CPU: c.CPU,
	})
	if err != nil {
		return "", nil, err
	}
	if report.Active(confine.LayerRoot) {
		return "/", report, nil
	}
	return c.Dir, report, nil
}

var errTruncated = errors.New("standard input ended before the module was complete")

// readFrame reads a module sent by sendModule.
func readFrame(stdin io.Reader) ([]byte, error) {
	var header [8]byte
	if _, err := io.ReadFull(stdin, header[:]); err != nil {
		return nil, errTruncated
	}
	size := binary.BigEndian.Uint64(header[:])
	if size > MaxModule {
		return nil, fmt.Errorf("the module is larger than the maximum of %d MiB", MaxModule>>20)
	}
	module := make([]byte, size)
	if _, err := io.ReadFull(stdin, module); err != nil {
		return nil, errTruncated
	}
	return module, nil
}

// compileTo rewrites and compiles a module, and writes the files that Load reads to dir.
func compileTo(module []byte, dir string, workers int) error {
	config := meter.DefaultConfig()
	config.MaxModule = MaxModule
	result, err := meter.Rewrite(module, config)
	if err != nil {
		return err
	}
	if result.ImportsState {
		return errors.New("it imports a memory, a table or a mutable global: define them in the module")
	}
	moduleFacts, err := json.Marshal(facts{Globals: result.Globals, Restorable: result.Restorable()})
	if err != nil {
		return err
	}
	bare, err := skeleton(result.Module)
	if err != nil {
		return err
	}
	if err := compileFor(bare, result.Module, dir, workers); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, moduleFile), bare, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, factsFile), moduleFacts, 0o600)
}

// compileFor has wazero compile module, and stores the code under the name under which wazero looks for the code of
// bare. wazero derives that name from the module and the processor by a function that it does not export. To learn the
// name, compileFor also compiles bare, which is quick.
func compileFor(bare, module []byte, dir string, workers int) error {
	code, err := compile(module, dir, workers)
	if err != nil {
		return err
	}
	kept := filepath.Join(dir, "code")
	if err := os.Rename(code, kept); err != nil {
		return err
	}
	stub, err := compile(bare, dir, workers)
	if err != nil {
		return err
	}
	return os.Rename(kept, stub)
}

// compile has wazero compile a module, and returns the path of the file to which wazero wrote the code.
func compile(module []byte, dir string, workers int) (string, error) {
	ctx := context.Background()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	_, err = runtime.CompileModule(experimental.WithCompilationWorkers(ctx, workers), module)
	if err := errors.Join(err, runtime.Close(ctx), cache.Close(ctx)); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, wazeroPrefix+"*", "*"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("the compiler wrote %d files, want 1", len(files))
	}
	if err != nil {
		return "", err
	}
	return files[0], nil
}
