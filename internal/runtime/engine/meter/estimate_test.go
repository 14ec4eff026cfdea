package meter

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// scanned returns the scan of the first function of a module. The function has the body code and 2 locals of type i32. The module has a
// second function, which has three parameters and one result, a table, and a data segment.
func scanned(t *testing.T, code ...any) *scan {
	t.Helper()
	const i32 = byte(wasm.I32)
	module := wasmtest.Module{
		Types:  []wasm.FuncType{{}, {Params: []byte{i32, i32, i32}, Results: []byte{i32}}, {Params: []byte{i32}, Results: []byte{i32, i32}}},
		Funcs:  []wasmtest.Func{{Locals: []byte{1, 2, i32}, Code: wasmtest.Code(append(code, 0x0b)...)}, {Type: 1, Code: []byte{0x00, 0x0b}}},
		Tables: [][]byte{{0x70, 0, 1}}, Memory: []byte{0, 1}, Data: [][]byte{{1, 1, 'x'}}, Counted: true, Elements: [][]byte{{1, 0, 1, 0}},
	}
	m, err := wasm.Decode(module.Bytes(), DefaultConfig().Bounds)
	if err != nil {
		t.Fatal(err)
	}
	w := newRewriter(m, DefaultConfig())
	if err := w.scan.read(m.Bodies[0], m.FuncType(0)); err != nil {
		t.Fatal(err)
	}
	return &w.scan
}

// TestEstimateOfInstructions pins what each control instruction adds to the estimate of compiling. An instruction that is not counted
// would let a module of a few kilobytes occupy the compiler for minutes.
func TestEstimateOfInstructions(t *testing.T) {
	const variables = 7 // 2 locals, the 3 globals that Rewrite adds, and the address and the length of the memory
	empty := scanned(t).estimate
	if want := (estimate{variables: variables, controls: 1, blockArgs: 7, squares: 49, code: 160 + 30}); empty != want {
		t.Fatalf("an empty function: got %+v, want %+v", empty, want)
	}
	push := wasmtest.I32(0)
	for name, c := range map[string]struct {
		code []byte
		// number of control instructions for each number of values that it passes in addition to the variables
		passes map[int64]int64
		size   int64 // bytes of compiled code besides those of values
	}{
		"nop":                      {wasmtest.Code(0x01), nil, 6},
		"load":                     {wasmtest.Code(push, 0x28, 0, 0, 0x1a), nil, 2*6 + 80},
		"local.get":                {wasmtest.Code(0x20, 0, 0x1a), nil, 2 * 6},
		"division":                 {wasmtest.Code(push, push, 0x6d, 0x1a), nil, 3*6 + 160 + 1},
		"block":                    {wasmtest.Code(0x02, 0x40, 0x0b), map[int64]int64{0: 2}, 2 * 30},
		"block with a result":      {wasmtest.Code(0x02, 0x7f, push, 0x0b, 0x1a), map[int64]int64{0: 1, 1: 1}, 2*30 + 2*6},
		"block with parameters":    {wasmtest.Code(push, 0x02, 2, push, 0x0b, 0x1a, 0x1a), map[int64]int64{1: 1, 2: 1}, 2*30 + 4*6},
		"loop":                     {wasmtest.Code(0x03, 0x40, 0x0b), map[int64]int64{0: 2}, 2 * 30},
		"loop with a back branch":  {wasmtest.Code(0x03, 0x40, push, 0x0d, 0, 0x0b), map[int64]int64{0: 5}, 3*30 + 6 + 80},
		"loop with a parameter":    {wasmtest.Code(push, 0x03, 2, push, 0x0d, 0, push, 0x0b, 0x1a, 0x1a), map[int64]int64{1: 2, 0: 2, 2: 1}, 3*30 + 5*6 + 80},
		"if":                       {wasmtest.Code(push, 0x04, 0x40, 0x0b), map[int64]int64{0: 2}, 2*30 + 6},
		"if and else":              {wasmtest.Code(push, 0x04, 0x40, 0x05, 0x0b), map[int64]int64{0: 3}, 3*30 + 6},
		"if and else with a value": {wasmtest.Code(push, push, 0x04, 2, push, 0x05, push, 0x0b, 0x1a, 0x1a), map[int64]int64{1: 2, 2: 1}, 3*30 + 6*6},
		"br out of a block":        {wasmtest.Code(0x02, 0x40, 0x0c, 0, 0x0b), map[int64]int64{0: 3}, 3 * 30},
		"br with a value":          {wasmtest.Code(0x02, 0x7f, push, 0x0c, 0, 0x0b, 0x1a), map[int64]int64{0: 1, 1: 2}, 3*30 + 2*6},
		"br_table":                 {wasmtest.Code(0x02, 0x40, push, 0x0e, 2, 0, 0, 0, 0x0b), map[int64]int64{0: 5}, 3*30 + 6},
		"return":                   {wasmtest.Code(0x0f), map[int64]int64{0: 1}, 30},
		"unreachable":              {wasmtest.Code(0x00), map[int64]int64{0: 1}, 30},
		"call":                     {wasmtest.Code(push, push, push, 0x10, 1, 0x1a), map[int64]int64{4: 1}, 4*6 + 100 + 16},
		"call_indirect":            {wasmtest.Code(push, push, push, push, 0x11, 1, 0, 0x1a), map[int64]int64{4: 1}, 5*6 + 300 + 16},
		"ref.func":                 {wasmtest.Code(0xd2, 0, 0x1a), map[int64]int64{0: 1}, 300 + 6},
		"memory.grow":              {wasmtest.Code(push, 0x40, 0, 0x1a), map[int64]int64{0: 4}, 2*6 + 300},
		"memory.copy":              {wasmtest.Code(push, push, push, 0xfc, 10, 0, 0), map[int64]int64{0: 4}, 3*6 + 300},
		"memory.init":              {wasmtest.Code(push, push, push, 0xfc, 8, 0, 0), map[int64]int64{0: 4}, 3*6 + 300},
		"table.fill":               {wasmtest.Code(push, 0xd0, 0x70, push, 0xfc, 17, 0), map[int64]int64{0: 4}, 3*6 + 300},
		"data.drop":                {wasmtest.Code(0xfc, 9, 0), nil, 300},
	} {
		t.Run(name, func(t *testing.T) {
			want := empty
			for values, n := range c.passes {
				want.controls += n
				want.blockArgs += n * (variables + values)
				want.squares += n * (variables + values) * (variables + values)
				want.code += 8 * n * values
			}
			want.code += c.size
			if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", scanned(t, c.code).estimate)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWorkOfEstimate(t *testing.T) {
	e := estimate{controls: 100, squares: 1000}
	if got := e.work(); got != 12*10_000+2*1000 {
		t.Errorf("100 control instructions with 1,000 squared arguments take %d ns", got)
	}
}

// TestCostsOfOpcodes pins the fuel and the size of the compiled code of each instruction.
func TestCostsOfOpcodes(t *testing.T) {
	type price struct {
		fuel uint32
		code int64
	}
	prices := map[price][][2]wasm.Opcode{ // ranges of opcodes; all others have the fuel 1 and the size 6
		{0, 30}:  {{0x05, 0x05}, {0x0b, 0x0b}}, // else, end
		{1, 30}:  {{0x00, 0x00}, {0x02, 0x04}, {0x0c, 0x0f}},
		{1, 100}: {{0x10, 0x10}},                                           // call
		{1, 300}: {{0x11, 0x11}, {0x40, 0x40}, {0xd2, 0xd2}},               // call_indirect, memory.grow, ref.func
		{2, 80}:  {{0x25, 0x26}, {0x28, 0x3e}},                             // table.get, table.set, loads and stores
		{8, 160}: {{0x6d, 0x70}, {0x7f, 0x82}},                             // div and rem
		{8, 6}:   {{0x91, 0x91}, {0x95, 0x95}, {0x9f, 0x9f}, {0xa3, 0xa3}}, // sqrt and div of floats
		{1, 280}: {{0xa8, 0xab}, {0xae, 0xb1}},                             // trunc
	}
	wants := map[wasm.Opcode]price{}
	for p, ranges := range prices {
		for _, r := range ranges {
			for op := r[0]; op <= r[1]; op++ {
				wants[op] = p
			}
		}
	}
	for op := range wasm.Opcode(256) {
		if _, ok := wants[op]; !ok {
			wants[op] = price{1, 6}
		}
	}
	for n := range 256 {
		vector, misc := price{3, 30}, price{4, 300}
		if n <= 0x0b || n >= 0x54 && n <= 0x5d { // loads and stores
			vector.code = 80
		}
		if n <= 7 { // saturating conversions
			misc.code = 80
		}
		wants[wasm.Vector(byte(n))], wants[wasm.Misc(byte(n))] = vector, misc
	}
	for op, want := range wants {
		if got := (price{cost(op), codeOf(op)}); got != want {
			t.Errorf("opcode %#x: got %+v, want %+v", op, got, want)
		}
	}
}

// TestChargesOfCalls pins what calls cost in fuel, besides their callees.
func TestChargesOfCalls(t *testing.T) {
	push := wasmtest.I32(0)
	for name, c := range map[string]struct {
		code []byte
		want uint32 // cost of the last step that is not the end
	}{
		"a call with 4 values":            {wasmtest.Code(push, push, push, 0x10, 1), 2 + 4},
		"call_indirect with 4 values":     {wasmtest.Code(push, push, push, push, 0x11, 1, 0), 2 + 4 + 50 + 3},
		"ref.func":                        {wasmtest.Code(0xd2, 0), 50},
		"memory.grow":                     {wasmtest.Code(push, 0x40, 0), 250},
		"table.grow":                      {wasmtest.Code(0xd0, 0x70, push, 0xfc, 15, 0), 250},
		"memory.fill":                     {wasmtest.Code(push, push, push, 0xfc, 11, 0), 10},
		"br to a label with 2 results":    {wasmtest.Code(push, 0x02, 2, push, push, 0x0c, 0, 0x0b), 1 + 2},
		"br_table to a label with 2":      {wasmtest.Code(push, 0x02, 2, push, push, push, 0x0e, 0, 0, 0x0b), 1 + 2 + 1},
		"br back to a loop with 1":        {wasmtest.Code(push, 0x03, 2, 0x0c, 0, 0x0b), 1 + 1},
		"return of a function with 0":     {wasmtest.Code(0x0f), 1},
		"17 instructions begin a new run": {wasmtest.Repeat(17, 0x01), 1},
	} {
		t.Run(name, func(t *testing.T) {
			steps := scanned(t, c.code).steps
			for steps[len(steps)-1].kind == stepEnd {
				steps = steps[:len(steps)-1]
			}
			if got := steps[len(steps)-1].cost; got != c.want {
				t.Errorf("costs %d, want %d", got, c.want)
			}
		})
	}
}

// TestLocalsAreChargedAtJoins checks that a path through a control instruction costs 1 for each 16 locals.
func TestLocalsAreChargedAtJoins(t *testing.T) {
	const i32 = byte(wasm.I32)
	for locals, want := range map[byte]uint32{0: 1, 15: 1, 16: 2, 31: 2, 32: 3} {
		module := wasmtest.Module{Types: []wasm.FuncType{{}}, Funcs: []wasmtest.Func{{Locals: []byte{1, locals, i32}, Code: []byte{0x02, 0x40, 0x0b, 0x0b}}}}
		m, err := wasm.Decode(module.Bytes(), DefaultConfig().Bounds)
		if err != nil {
			t.Fatal(err)
		}
		w := newRewriter(m, DefaultConfig())
		if err := w.scan.read(m.Bodies[0], m.FuncType(0)); err != nil {
			t.Fatal(err)
		}
		if got := w.scan.steps[0].cost; got != want {
			t.Errorf("a block in a function with %d locals costs %d, want %d", locals, got, want)
		}
	}
}

// TestStraightCodeIsCharged pins how much work there is between two charges, and between two checks.
func TestStraightCodeIsCharged(t *testing.T) {
	s := scanned(t, wasmtest.Repeat(50_000, 0x01))
	(&planner{}).plan(s)
	var sinceCharge, sinceCheck, mostCharge, mostCheck uint32
	for _, step := range s.steps {
		if step.before.amount > 0 {
			sinceCharge = 0
		}
		if step.before.check {
			sinceCheck = 0
		}
		sinceCharge, sinceCheck = sinceCharge+step.cost, sinceCheck+step.cost
		mostCharge, mostCheck = max(mostCharge, sinceCharge), max(mostCheck, sinceCheck)
	}
	if mostCharge <= 64 || mostCharge > 128+16 || mostCheck <= 2048 || mostCheck > 4096+16 {
		t.Errorf("at most %d units between charges and %d between checks, want about 128 and 4096", mostCharge, mostCheck)
	}
}

func TestFrameSize(t *testing.T) {
	const i32, v128 = byte(wasm.I32), byte(wasm.V128)
	for name, c := range map[string]struct {
		locals []byte
		want   int64
	}{
		"no locals":         {nil, 64 + 3},
		"10 locals of i32":  {[]byte{1, 10, i32}, 64 + 10*8 + 3},
		"one of 10 is v128": {[]byte{2, 9, i32, 1, v128}, 64 + 10*16 + 3},
		"20 locals of i32":  {[]byte{1, 20, i32}, 64 + 20*8 + 3 + 1},
	} {
		module := wasmtest.Module{Types: []wasm.FuncType{{}}, Funcs: []wasmtest.Func{{Locals: c.locals, Code: []byte{0x01, 0x10, 0, 0x0b}}}}
		m, err := wasm.Decode(module.Bytes(), DefaultConfig().Bounds)
		if err != nil {
			t.Fatal(err)
		}
		w := newRewriter(m, DefaultConfig())
		if err := w.scan.read(m.Bodies[0], m.FuncType(0)); err != nil {
			t.Fatal(err)
		}
		if got := w.frameSize(m.Bodies[0]); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
