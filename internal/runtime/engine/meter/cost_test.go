package meter

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// The costs are in digits, as in docs/abi.md: modules of plugins are limited by them. Each range is listed with its neighbours.
func TestCostsOfInstructions(t *testing.T) {
	for op, want := range map[wasm.Opcode]struct {
		fuel uint32
		code int64 // estimated bytes of compiled code
	}{
		wasm.OpElse: {0, 30}, wasm.OpEnd: {0, 30}, 0x01: {1, 6}, 0x1a: {1, 6}, 0x20: {1, 6}, // nop, drop, local.get
		wasm.OpCall: {1, 100}, wasm.OpCallIndirect: {1, 300}, wasm.OpRefFunc: {1, 300}, wasm.OpMemoryGrow: {1, 300}, wasm.OpMemorySize: {1, 6},
		0x24: {1, 6}, wasm.OpTableGet: {2, 80}, wasm.OpTableSet: {2, 80}, 0x27: {1, 6}, 0x28: {2, 80}, 0x3e: {2, 80}, // loads and stores
		0x6c: {1, 6}, 0x6d: {8, 160}, 0x70: {8, 160}, 0x71: {1, 6}, 0x7e: {1, 6}, 0x7f: {8, 160}, 0x82: {8, 160}, 0x83: {1, 6}, // integer divisions
		0x90: {1, 6}, 0x91: {8, 6}, 0x92: {1, 6}, 0x94: {1, 6}, 0x95: {8, 6}, 0x96: {1, 6}, // square roots and divisions of floats
		0x9e: {1, 6}, 0x9f: {8, 6}, 0xa0: {1, 6}, 0xa2: {1, 6}, 0xa3: {8, 6}, 0xa4: {1, 6},
		0xa7: {1, 6}, 0xa8: {1, 280}, 0xab: {1, 280}, 0xac: {1, 6}, 0xad: {1, 6}, 0xae: {1, 280}, 0xb1: {1, 280}, 0xb2: {1, 6}, // conversions of floats
		wasm.Vector(0): {3, 80}, wasm.Vector(0x0b): {3, 80}, wasm.Vector(0x0c): {3, 30}, wasm.Vector(0x53): {3, 30}, wasm.Vector(0x54): {3, 80},
		wasm.Vector(0x5d): {3, 80}, wasm.Vector(0x5e): {3, 30}, wasm.Misc(0): {4, 80}, wasm.Misc(7): {4, 80}, wasm.Misc(8): {4, 300},
	} {
		if got := cost(op); got != want.fuel {
			t.Errorf("opcode %#x costs %d, want %d", op, got, want.fuel)
		}
		if got := codeOf(op); got != want.code {
			t.Errorf("opcode %#x is estimated as %d bytes of code, want %d", op, got, want.code)
		}
	}
	for what, c := range map[string]struct{ got, want int }{
		"a call": {costCall, 2}, "a call of an imported function": {costHost, 50}, "a call of WASI": {costWASI, 1000}, "ref.func": {costRefs, 50},
		"memory.grow": {costGrow, 250}, "a page": {unitsPerPage, 8192}, "a bulk instruction": {costBulk, 10}, "locals of a join": {localsPerUnit, 16},
	} {
		if c.got != c.want {
			t.Errorf("%s costs %d, want %d", what, c.got, c.want)
		}
	}
}

// A function at its limit is accepted, and the sum is of all functions.
func TestEstimatesAreBounded(t *testing.T) {
	e := &estimate{variables: 2, code: 5}
	e.addControl(3)
	e.addControl(0)
	if e.blockArgs != 7 || e.controls != 2 || e.squares != 29 || e.code != 29 || e.work() != 12*4+2*29 {
		t.Fatalf("got %+v, work %d", e, e.work())
	}
	limits := Config{MaxBlockArgs: 7, MaxBlockArgsSum: 14, MaxWork: 106, MaxWorkSum: 212, MaxCode: 29, MaxCodeSum: 58}
	sum := total{}
	for range 2 {
		if err := sum.add(e, limits, 0); err != nil {
			t.Error(err)
		}
	}
	if err := sum.add(&estimate{code: 1}, limits, 0); err == nil {
		t.Error("more code than all functions may have")
	}
	for name, lower := range map[string]func(*Config){
		"block arguments": func(c *Config) { c.MaxBlockArgs-- }, "block arguments of all": func(c *Config) { c.MaxBlockArgsSum = 6 },
		"work": func(c *Config) { c.MaxWork-- }, "work of all": func(c *Config) { c.MaxWorkSum = 105 },
		"code": func(c *Config) { c.MaxCode-- }, "code of all": func(c *Config) { c.MaxCodeSum = 28 },
	} {
		c, sum := limits, total{}
		lower(&c)
		if err := sum.add(e, c, 0); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
