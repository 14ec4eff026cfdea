package engine

import (
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// script is the kind of the module that runs scripts of clients. It is ABI 1 without WASI: the module has no files, variables, clocks or
// random numbers, whatever it is granted, so a result depends only on the script and on the calls that it makes.
type script struct{ abi1 }

// check implements kind.
func (s script) check(compiled wazero.CompiledModule) error {
	if err := s.abi1.check(compiled); err != nil {
		return err
	}
	var errs []error
	for _, f := range compiled.ImportedFunctions() {
		if module, name, _ := f.Import(); module != abi.ImportModule && module != meter.ImportModule {
			errs = append(errs, fmt.Errorf("it imports %q.%q, but a module of the kind %q imports only functions of ABI 1", module, name, Script))
		}
	}
	return errors.Join(errs...)
}
