package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	goruntime "runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// maxModule bounds a module's file: compiling takes memory and time in proportion.
const maxModule = 64 << 20

// loaded is a module in memory.
type loaded struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	cache    wazero.CompilationCache
	globals  []meter.Global
	image    *image // that instances are put back to; nil: they cannot or shall not be
	pool     *pool
	resting  bool // its instances have been released
}

func (l *loaded) close(ctx context.Context) error {
	l.pool.work.Wait()
	l.pool.drain()
	return errors.Join(l.runtime.Close(ctx), l.cache.Close(ctx))
}

// Warm compiles the module into the cache on disk if it is not there yet, so that the first call need
// not. It leaves nothing in memory that no call asked for.
func (m *Module) Warm(ctx context.Context) error {
	if m.engine.config.CacheDir == "" || m.Loaded() {
		return nil
	}
	from, err := m.read()
	if err != nil || m.engine.kept(from) {
		return err
	}
	if _, err := m.rewrite(from); err != nil {
		return err
	}
	return m.engine.cached(ctx, m, from, 1) // calls of other plugins go on meanwhile
}

// source is a module's file, and what it was rewritten to.
type source struct{ binary, module []byte }

// compile loads the module.
func (m *Module) compile(ctx context.Context) (*loaded, error) {
	from, err := m.read()
	if err != nil {
		return nil, err
	}
	result, err := m.rewrite(from)
	if err != nil {
		return nil, err
	}
	l := &loaded{globals: result.Globals, pool: newPool()}
	if l.cache, err = m.openCache(ctx, from); err != nil {
		return nil, err
	}
	if err := m.instantiable(ctx, l, from.module); err != nil {
		return nil, errors.Join(err, l.cache.Close(ctx))
	}
	if !m.spec.Reused && result.Restorable() {
		m.takeImage(ctx, l)
	}
	return l, nil
}

// openCache gives the cache that has the module's code. Without a place for it on disk the module is
// compiled in memory.
func (m *Module) openCache(ctx context.Context, from *source) (wazero.CompilationCache, error) {
	err := m.engine.cached(ctx, m, from, goruntime.GOMAXPROCS(0))
	if failure := (*Error)(nil); errors.As(err, &failure) && failure.Code != CodeInternal {
		return nil, err
	}
	if dir := m.engine.folder(from); err == nil && dir != "" {
		cache, oerr := wazero.NewCompilationCacheWithDir(dir)
		if oerr == nil {
			return cache, nil
		}
		err = oerr
	}
	if err != nil {
		m.engine.log.Warn("compiled code cannot be kept", "plugin", m.spec.Name, "reason", err)
	}
	return wazero.NewCompilationCache(), nil
}

// rewrite adds metering to the module.
func (m *Module) rewrite(from *source) (meter.Result, error) {
	result, err := meter.Rewrite(from.binary, meter.Config{MaxModule: maxModule})
	if err != nil {
		return result, m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, bounded(err.Error(), 500))
	}
	if result.ImportsState {
		return result, m.fail(CodeInvalidModule, nil, "cannot run %s: it imports a memory, a table or a mutable global, and must own what it changes", m.spec.File)
	}
	from.module = result.Module
	return result, nil
}

func (m *Module) read() (*source, error) {
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
	return &source{binary: binary}, nil
}

// instantiable compiles the module and gives it what it imports. Memory is not the runtime's to bound, but
// the allocator's, which notices what it refuses.
func (m *Module) instantiable(ctx context.Context, l *loaded, module []byte) error {
	l.runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(l.cache))
	var err error
	l.compiled, err = l.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, goruntime.GOMAXPROCS(0)), module)
	if err == nil {
		err = checkABI(l.compiled)
	}
	if err == nil {
		err = provide(ctx, l.runtime)
	}
	if err != nil {
		return errors.Join(m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, bounded(err.Error(), 500)), l.runtime.Close(ctx))
	}
	if need := int64(l.compiled.ExportedMemories()[abi.ExportMemory].Min()) * pageSize; need > m.spec.Memory {
		return errors.Join(m.fail(CodeMemory, nil, "cannot run: it begins with %d MiB of memory, and its limit is %d", need>>20, m.spec.Memory>>20), l.runtime.Close(ctx))
	}
	return nil
}

// runtimeConfig is what modules are compiled with; the meter knows the instructions of these features and
// no others.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2)
}

// imageTime bounds the making of an image, which goes on when the call that it is for has been cancelled.
const imageTime = 10 * time.Second

// takeImage makes the first instance and keeps its state. A module that leaves files open, or crashes
// before its first call, has none: each of its calls gets an instance that is made for it.
func (m *Module) takeImage(ctx context.Context, l *loaded) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(m.spec.Time, imageTime))
	defer cancel()
	inst, failure := m.fresh(ctx, l)
	if failure == nil {
		failure = inst.try(ctx)
		if failure == nil && inst.untouched() {
			l.image = inst.snapshot()
			l.pool.put(inst)
			return
		}
		inst.close()
	}
	if failure != nil {
		m.engine.log.Debug("no image is kept", "plugin", m.spec.Name, "reason", failure.Message)
	}
}
