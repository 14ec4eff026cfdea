package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// The cache has a folder for each module, named after what its code depends on. In it are wazero's files
// and sumsFile with their digests: wazero itself only keeps a checksum, and one flipped byte in a file was
// seen to end the process. A folder appears whole, by a rename, so that hosts can share the cache.

const (
	sumsFile = "sums.json"
	// compileTime bounds the compiling of a module.
	compileTime = 2 * time.Minute
	// cacheAge is how long a module that nobody loads stays in the cache.
	cacheAge = 30 * 24 * time.Hour
)

// folder is where a module's code is kept, "" where nothing is kept. Its name begins with what is known of
// the module before it is rewritten, so that whether there is code can be seen without.
func (e *Engine) folder(m *source) string {
	if e.config.CacheDir == "" {
		return ""
	}
	return e.prefix(m) + codeKey(m.module)
}

func (e *Engine) prefix(m *source) string {
	return filepath.Join(e.config.CacheDir, "code-"+codeKey(m.binary)+"-")
}

// codeKey is a digest of a module and of who compiles it.
func codeKey(module []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %s\n", wazeroVersion(), goruntime.GOOS, goruntime.GOARCH)
	sum.Write(module)
	return hex.EncodeToString(sum.Sum(nil))
}

// kept tells whether there is code of a module, sound or not, and that it is in use.
func (e *Engine) kept(m *source) bool {
	found, err := filepath.Glob(e.prefix(m) + "*")
	for _, dir := range found {
		touch(dir)
	}
	return err == nil && len(found) > 0
}

// touch says that a folder is in use.
func touch(dir string) {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, sumsFile), now, now)
}

var wazeroVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				return dep.Version
			}
		}
	}
	return "unknown"
})

// cached sees to it that the cache has the module's code and that it is sound.
func (e *Engine) cached(ctx context.Context, m *Module, from *source, workers int) error {
	dir := e.folder(from)
	if dir == "" {
		return nil
	}
	held, _ := e.filling.LoadOrStore(dir, new(sync.Mutex)) // a call and Warm need the same
	filling := held.(*sync.Mutex)
	filling.Lock()
	defer filling.Unlock()
	err := verify(dir)
	if err == nil {
		touch(dir)
		return nil
	}
	if _, serr := os.Lstat(dir); serr == nil {
		e.log.Warn("compiled code is not as it was written, and is made anew", "plugin", m.spec.Name, "folder", dir, "reason", err)
		if err := os.RemoveAll(dir); err != nil {
			return m.fail(CodeInternal, err, "cannot run: its compiled code cannot be removed: %v", err)
		}
	}
	e.prune()
	return e.fill(ctx, m, from.module, dir, workers)
}

// fill compiles the module into a new folder and puts that in place.
func (e *Engine) fill(ctx context.Context, m *Module, module []byte, dir string, workers int) error {
	fresh, err := os.MkdirTemp(e.config.CacheDir, ".new-")
	if err != nil {
		return m.fail(CodeInternal, err, "cannot run: its code cannot be kept: %v", err)
	}
	defer os.RemoveAll(fresh)
	if len(e.config.Compiler) > 0 {
		err = e.compileOutside(ctx, module, fresh, workers)
	} else {
		err = compileInto(ctx, module, fresh, workers)
	}
	if err != nil {
		if ctx.Err() != nil {
			return m.stopped(ctx)
		}
		if diskFault(err) {
			return m.fail(CodeInternal, err, "cannot run: its code cannot be kept: %v", err)
		}
		return m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, bounded(err.Error(), 500))
	}
	if err := writeSums(fresh); err != nil {
		return m.fail(CodeInternal, err, "cannot run: its code cannot be kept: %v", err)
	}
	if err := os.Rename(fresh, dir); err != nil && verify(dir) != nil { // else another host was faster
		return m.fail(CodeInternal, err, "cannot run: its code cannot be kept: %v", err)
	}
	return nil
}

// diskFault tells an error of the file system from one of the module.
func diskFault(err error) bool {
	path, number := (*fs.PathError)(nil), syscall.Errno(0)
	return errors.As(err, &path) || errors.As(err, &number)
}

// compileInto compiles a module into a cache of its own.
func compileInto(ctx context.Context, module []byte, dir string, workers int) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	_, err = runtime.CompileModule(experimental.WithCompilationWorkers(ctx, workers), module)
	return errors.Join(err, runtime.Close(ctx), cache.Close(ctx))
}

// compileOutside has the compiler's process do it.
func (e *Engine) compileOutside(ctx context.Context, module []byte, dir string, workers int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, compileTime, fmt.Errorf("compiling it took longer than %s", compileTime))
	defer cancel()
	command := exec.CommandContext(ctx, e.config.Compiler[0], append(e.config.Compiler[1:], dir, fmt.Sprint(workers))...)
	command.Stdin = bytes.NewReader(module)
	command.Env = []string{}
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == compilerDiskFault {
			return &fs.PathError{Op: "write", Path: dir, Err: errors.New(bounded(said.String(), 400))}
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("compiling it failed: %w: %s", err, bounded(said.String(), 400))
	}
	return nil
}

// compilerDiskFault is the exit code of a compiler's process that could not write what it made.
const compilerDiskFault = 9

// CompilerExit is the exit code that a compiler's process ends with after CompileStdin returned err.
func CompilerExit(err error) int {
	switch {
	case err == nil:
		return 0
	case diskFault(err):
		return compilerDiskFault
	}
	return 1
}

// CompileStdin is the work of the compiler's process: it compiles the module on stdin into the folder.
func CompileStdin(ctx context.Context, stdin io.Reader, dir string, workers int) error {
	if err := limitProcess(); err != nil {
		return err
	}
	module, err := io.ReadAll(io.LimitReader(stdin, 2*maxModule))
	if err != nil {
		return err
	}
	return compileInto(ctx, module, dir, workers)
}

// sums are the digests of the files in a folder, by path.
func sums(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() || item.Name() == sumsFile {
			return err
		}
		if !item.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	return all, err
}

func writeSums(dir string) error {
	all, err := sums(dir)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("the compiler left nothing")
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), data, 0o600)
}

// verify tells whether a folder is as it was written.
func verify(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		return fmt.Errorf("%s: %w", sumsFile, err)
	}
	have, err := sums(dir)
	if err != nil {
		return err
	}
	if len(have) != len(want) || len(want) == 0 {
		return fmt.Errorf("there are %d files, and there were %d", len(have), len(want))
	}
	for name, sum := range want {
		if have[name] != sum {
			return fmt.Errorf("%s has changed", name)
		}
	}
	return nil
}

// prune removes what nobody has loaded for long, and what a compiler that was ended has left.
func (e *Engine) prune() {
	items, err := os.ReadDir(e.config.CacheDir)
	if err != nil {
		return
	}
	for _, item := range items {
		dir := filepath.Join(e.config.CacheDir, item.Name())
		age := cacheAge
		used, err := os.Stat(filepath.Join(dir, sumsFile))
		if err != nil {
			age = 2 * compileTime
			used, err = os.Stat(dir)
		}
		if err == nil && item.IsDir() && time.Since(used.ModTime()) > age {
			_ = os.RemoveAll(dir)
		}
	}
}
