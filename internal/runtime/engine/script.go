package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
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

// levelPrinted is the level of the log lines that are copies of what a script prints. They are not logged, but kept for the script's client, who
// gets them if the script is stopped; otherwise they are in its result.
const levelPrinted = hclog.Trace

// MaxPrinted bounds the lines of a script that are kept, in bytes, each with a line break.
const MaxPrinted = 16 << 10

// printed are the first lines that a script has printed.
type printed struct {
	lines []string
	size  int
}

func (p *printed) add(line []byte) {
	left := MaxPrinted - p.size - 1 // for the line break
	if left < 0 {
		return
	}
	kept := line[:min(len(line), left)]
	p.lines, p.size = append(p.lines, strings.ToValidUTF8(string(kept), "")), p.size+len(kept)+1
	if len(kept) < len(line) {
		p.size = MaxPrinted
	}
}
