package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// maxModule bounds a module's file: compiling takes memory and time in proportion.
const maxModule = 64 << 20

// Module is one module and its instances. It is safe for concurrent use.
type Module struct {
	engine  *Engine
	spec    Spec
	running chan struct{} // a place for each call that may run

	mu      sync.Mutex // guards what follows; held while compiling
	loaded  *loaded
	closed  bool
	waiting int // calls that need the module loaded; guarded by count
	count   sync.Mutex
}

// loaded is a compiled module and the instances that wait for a call.
type loaded struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule

	mu   sync.Mutex
	idle []*instance
}

var errClosed = errors.New("the module is closed")

// load reads, checks and compiles the module unless that is done. After a failure the next call tries
// again: the file may have been built in between.
func (m *Module) load(ctx context.Context) (*loaded, error) {
	m.expect(1)
	defer m.expect(-1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	if m.loaded == nil {
		l, err := m.compile(ctx)
		if err != nil {
			return nil, err
		}
		m.loaded = l
	}
	return m.loaded, nil
}

func (m *Module) expect(calls int) int {
	m.count.Lock()
	defer m.count.Unlock()
	m.waiting += calls
	return m.waiting
}

// Warm compiles the module into the cache on disk if it is not there yet, so that the first call need
// not. It leaves nothing in memory that no call asked for.
func (m *Module) Warm(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.loaded != nil || m.engine.cacheDir == "" {
		return nil
	}
	binary, err := m.read()
	if err != nil {
		return err
	}
	marker := m.marker(binary)
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	l, err := m.compileBinary(ctx, binary, 1) // calls of other plugins go on meanwhile
	if err != nil {
		return err
	}
	if m.expect(0) > 0 {
		m.loaded = l // a call came while we compiled
		return nil
	}
	return l.runtime.Close(ctx)
}

// marker is the file that says that the cache has the module's code.
func (m *Module) marker(binary []byte) string {
	sum := sha256.Sum256(binary)
	return filepath.Join(m.engine.cacheDir, "compiled-"+hex.EncodeToString(sum[:]))
}

func (m *Module) compile(ctx context.Context) (*loaded, error) {
	binary, err := m.read()
	if err != nil {
		return nil, err
	}
	return m.compileBinary(ctx, binary, goruntime.GOMAXPROCS(0)) // somebody waits
}

func (m *Module) read() ([]byte, error) {
	file, err := os.Open(m.spec.File)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, m.fail(CodeModuleMissing, err, "cannot run: there is no module at %s: build the plugin with `bulkhead plugin build`", m.spec.File)
		}
		return nil, m.fail(CodeModuleMissing, err, "cannot run: its module cannot be read: %v", err)
	}
	defer file.Close()
	binary, err := io.ReadAll(io.LimitReader(file, maxModule+1))
	if err != nil {
		return nil, m.fail(CodeModuleMissing, err, "cannot run: its module cannot be read: %v", err)
	}
	if len(binary) > maxModule {
		return nil, m.fail(CodeInvalidModule, nil, "cannot run: %s is larger than %d MiB", m.spec.File, maxModule>>20)
	}
	if sum := sha256.Sum256(binary); m.spec.SHA256 != "" && hex.EncodeToString(sum[:]) != m.spec.SHA256 {
		return nil, m.fail(CodeDigest, nil, "cannot run: %s has the SHA-256 %x, and its manifest was built for %s: build the plugin again, or find out who changed the file", m.spec.File, sum, m.spec.SHA256)
	}
	return binary, nil
}

// compileBinary compiles with a number of workers side by side.
func (m *Module) compileBinary(ctx context.Context, binary []byte, workers int) (*loaded, error) {
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(m.engine.cache).
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(uint32(m.spec.Memory/pageSize)))
	compiled, err := runtime.CompileModule(experimental.WithCompilationWorkers(ctx, workers), binary)
	if err == nil {
		err = checkABI(compiled)
	}
	if err == nil {
		err = provide(ctx, runtime)
	}
	if err != nil {
		return nil, errors.Join(m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, bounded(err.Error(), 500)), runtime.Close(ctx))
	}
	if m.engine.cacheDir != "" {
		if err := os.WriteFile(m.marker(binary), nil, 0o600); err != nil {
			m.engine.log.Warn("compilation cache", "error", err)
		}
	}
	return &loaded{runtime: runtime, compiled: compiled}, nil
}

// acquire takes an idle instance or makes one.
func (m *Module) acquire(ctx context.Context, l *loaded) (*instance, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		inst := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return inst, nil
	}
	l.mu.Unlock()
	return m.instantiate(ctx, l)
}

func (l *loaded) release(inst *instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, inst)
}

// Response is what a call gave.
type Response struct {
	// Body is the module's answer: text of at most Spec.Output bytes, of which nothing more is known.
	Body []byte
	// Faults are the errors of the file system that WASI could not tell the module, at most a few.
	Faults []error
}

// Call sends a request: a method of ABI 1 and its parameters, which are valid JSON or empty. An error is
// an *Error.
func (m *Module) Call(ctx context.Context, method string, params []byte) (Response, error) {
	select {
	case m.running <- struct{}{}:
		defer func() { <-m.running }()
	case <-ctx.Done():
		return Response{}, m.stopped(ctx)
	}
	l, err := m.load(ctx)
	if err != nil {
		return Response{}, err
	}
	limited, cancel := context.WithTimeout(ctx, m.spec.Time)
	defer cancel()
	inst, err := m.acquire(limited, l)
	if err != nil {
		return Response{}, err
	}
	response, failure := inst.call(limited, envelope(limited, method, params))
	if failure != nil {
		// What state a stopped module is in nobody knows.
		if err := inst.module.Close(context.WithoutCancel(ctx)); err != nil {
			m.engine.log.Warn("close a failed instance", "plugin", m.spec.Name, "error", err)
		}
		return Response{}, failure
	}
	l.release(inst)
	return response, nil
}

// envelope is an abi.Request around parameters that are copied, not decoded.
func envelope(ctx context.Context, method string, params []byte) []byte {
	out := make([]byte, 0, len(method)+len(params)+64)
	out = append(out, `{"method":"`...)
	out = append(out, method...)
	out = append(out, '"')
	if deadline, ok := ctx.Deadline(); ok {
		out = append(out, `,"deadline":`...)
		out = strconv.AppendInt(out, deadline.UnixMilli(), 10)
	}
	if len(params) > 0 {
		out = append(out, `,"params":`...)
		out = append(out, params...)
	}
	return append(out, '}')
}

// Loaded tells whether the module is in memory.
func (m *Module) Loaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded != nil
}

// Close releases the module. Calls must have ended; later ones fail.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.loaded == nil {
		return nil
	}
	err := m.loaded.runtime.Close(ctx)
	m.loaded = nil
	if err != nil {
		return fmt.Errorf("plugin %q: close: %w", m.spec.Name, err)
	}
	return nil
}
