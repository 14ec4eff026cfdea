package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// ErrMiss is returned by Load if a directory lacks the code for this processor and this version of wazero, or was cleared
// after Ensure had returned it.
var ErrMiss = errors.New("the compiled code was removed, or is for another processor or another version of this program")

// Program is a loaded module, ready to be instantiated.
type Program struct {
	Runtime    wazero.Runtime
	Compiled   wazero.CompiledModule
	Globals    []meter.Global // the mutable globals to restore
	Restorable bool           // whether the memory and Globals are the whole state of an instance
	cache      wazero.CompilationCache
}

// facts is the content of factsFile: what Load must know about a module.
type facts struct {
	Globals    []meter.Global `json:"globals,omitempty"`
	Restorable bool           `json:"restorable"`
}

// Load loads the verified code in dir. It writes nothing and does not compile: if wazero does not find the code, the error
// is ErrMiss.
func Load(ctx context.Context, dir string) (*Program, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	module, err := readLoaded(root, moduleFile, 2*MaxModule)
	if err != nil {
		return nil, err
	}
	data, err := readLoaded(root, factsFile, maxFacts)
	if err != nil {
		return nil, err
	}
	var f facts
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", factsFile, err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Program{cache: cache, Globals: f.Globals, Restorable: f.Restorable}
	p.Runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	// With several workers wazero checks the context before it compiles, but not when it finds the code: a cancelled
	// context prevents compilation only.
	canceled, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(ctx, 2))
	cancel(ErrMiss)
	if p.Compiled, err = p.Runtime.CompileModule(canceled, module); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

func readLoaded(root *os.Root, name string, limit int64) ([]byte, error) {
	data, err := readBounded(root, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMiss
	}
	return data, err
}

// Close releases the program. Its instances must be closed.
func (p *Program) Close(ctx context.Context) error {
	return errors.Join(p.Runtime.Close(ctx), p.cache.Close(ctx))
}

// runtimeConfig limits modules to the features whose instructions the meter knows.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2)
}
