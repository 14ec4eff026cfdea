package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
)

// ErrMiss says that a directory does not have the code of its module for this processor and this version of wazero.
var ErrMiss = errors.New("the compiled code is not for this program on this machine")

// Program is a module in memory, ready to be instantiated.
type Program struct {
	Runtime    wazero.Runtime
	Compiled   wazero.CompiledModule
	Globals    []meter.Global // by which, with the memory, an instance is put back
	Restorable bool           // that puts back the whole state
	cache      wazero.CompilationCache
}

// facts is the content of factsFile.
type facts struct {
	Globals    []meter.Global `json:"globals,omitempty"`
	Restorable bool           `json:"restorable"`
}

// Load loads the verified code in dir. It only reads, and does not compile: where wazero does not find the code, the
// error is ErrMiss.
func Load(ctx context.Context, dir string) (*Program, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	module, err := readBounded(root, moduleFile, 2*MaxModule)
	if err != nil {
		return nil, err
	}
	data, err := readBounded(root, factsFile, maxFacts)
	if err != nil {
		return nil, err
	}
	var known facts
	if err := json.Unmarshal(data, &known); err != nil {
		return nil, fmt.Errorf("%s: %w", factsFile, err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Program{cache: cache, Globals: known.Globals, Restorable: known.Restorable}
	p.Runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	// wazero looks at the context when it compiles with several workers, and not when it finds the code.
	canceled, cancel := context.WithCancelCause(experimental.WithCompilationWorkers(ctx, 2))
	cancel(ErrMiss)
	if p.Compiled, err = p.Runtime.CompileModule(canceled, module); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	return p, nil
}

// Close releases the program, whose instances must have been closed.
func (p *Program) Close(ctx context.Context) error {
	return errors.Join(p.Runtime.Close(ctx), p.cache.Close(ctx))
}

// runtimeConfig is what modules are compiled with; the meter knows the instructions of these features and no others.
func runtimeConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2)
}
