package meter_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

func TestRewriteEnforcesLimits(t *testing.T) {
	functions := wasmtest.Module{Types: someTypes, Funcs: slices.Repeat([]wasmtest.Func{function("", tVoid, nil, code(0x0b))}, 20)}
	branches := func(locals byte) wasmtest.Module {
		return one(tVoid, []byte{1, locals, 0x7f}, code(repeat(50, 0x02, 0x40, 0x0b), 0x0b))
	}
	many := func(set func(*wasmtest.Module)) wasmtest.Module {
		h := one(tVoid, nil, code(0x0b))
		h.Tables = [][]byte{{0x70, 0, 1}}
		set(&h)
		return h
	}
	for name, c := range map[string]struct {
		h     wasmtest.Module
		limit func(*meter.Config)
		what  string
	}{
		"a module":             {functions, func(c *meter.Config) { c.MaxModule = 50 }, "bytes of a module"},
		"functions":            {functions, func(c *meter.Config) { c.Functions = 19 }, "functions"},
		"a body":               {one(tVoid, nil, code(repeat(100, 0x01), 0x0b)), func(c *meter.Config) { c.Body = 100 }, "bytes of a function's body"},
		"locals":               {one(tVoid, []byte{2, 50, 0x7f, 50, 0x7e}, code(0x0b)), func(c *meter.Config) { c.Locals = 99 }, "parameters and locals of a function"},
		"parameters as locals": {one(tRange, []byte{1, 97, 0x7f}, code(0x0b)), func(c *meter.Config) { c.Locals = 99 }, "parameters and locals of a function"},
		"four billion locals":  {one(tVoid, []byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7f}, code(0x0b)), func(*meter.Config) {}, "parameters and locals of a function"},
		"labels":               {one(tVoid, nil, code(i32(0), 0x0e, 50, repeat(51, 0), 0x0b)), func(c *meter.Config) { c.MaxLabels = 49 }, "labels of a br_table"},
		"nested blocks":        {one(tVoid, nil, code(repeat(50, 0x02, 0x40), repeat(51, 0x0b))), func(c *meter.Config) { c.MaxNesting = 49 }, "nested blocks"},
		"types":                {functions, func(c *meter.Config) { c.Types = 5 }, "types"},
		"parameters":           {functions, func(c *meter.Config) { c.Arity = 2 }, "parameters"},
		"results":              {functions, func(c *meter.Config) { c.Arity = 1; c.Types = 6 }, "parameters"},
		"imports":              {wasmtest.Module{Types: someTypes, Imports: []wasmtest.Import{imported("a", "b", 0), imported("a", "c", 0)}}, func(c *meter.Config) { c.Imports = 1 }, "imports"},
		"exports":              {wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("a", 0, nil, code(0x0b)), function("b", 0, nil, code(0x0b))}}, func(c *meter.Config) { c.Exports = 1 }, "exports"},
		"a name":               {wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function(strings.Repeat("a", 50), 0, nil, code(0x0b))}}, func(c *meter.Config) { c.Name = 49 }, "bytes of a name"},
		"globals":              {many(func(h *wasmtest.Module) { h.Globals = repeatSlices(3, 0x7f, 0, 0x41, 0, 0x0b) }), func(c *meter.Config) { c.Globals = 2 }, "globals"},
		"tables":               {many(func(h *wasmtest.Module) { h.Tables = repeatSlices(3, 0x70, 0, 1) }), func(c *meter.Config) { c.Tables = 2 }, "tables"},
		"element segments":     {many(func(h *wasmtest.Module) { h.Elements = repeatSlices(3, 1, 0, 0) }), func(c *meter.Config) { c.Elements = 2 }, "element segments"},
		"data segments":        {many(func(h *wasmtest.Module) { h.Data = repeatSlices(3, 1, 0) }), func(c *meter.Config) { c.Data = 2 }, "data segments"},
		"variables":            {branches(60), func(c *meter.Config) { c.MaxBlockArgs = 3000 }, "SSA block arguments of a function"},
		"their sum":            {branches(60), func(c *meter.Config) { c.MaxBlockArgsSum = 3000 }, "SSA block arguments of all functions"},
		"control":              {branches(1), func(c *meter.Config) { c.MaxControl = 99 }, "control instructions of a function"},
		"labels as control":    {one(tVoid, nil, code(i32(0), 0x0e, 50, repeat(51, 0), 0x0b)), func(c *meter.Config) { c.MaxControl = 50 }, "control instructions of a function"},
		"work":                 {branches(60), func(c *meter.Config) { c.MaxWork = 100_000 }, "estimated nanoseconds of compiling a function"},
		"work of all":          {branches(60), func(c *meter.Config) { c.MaxWorkSum = 100_000 }, "estimated nanoseconds of compiling all functions"},
		"code":                 {one(tVoid, nil, code(repeat(50, i32(0), 0x28, 0, 0, 0x1a), 0x0b)), func(c *meter.Config) { c.MaxCode = 4000 }, "bytes of compiled code of a function"},
		"code of all":          {functions, func(c *meter.Config) { c.MaxCodeSum = 2000 }, "bytes of compiled code of all functions"},
		"values of types":      {functions, func(c *meter.Config) { c.Values = 8 }, "parameters and results of all types"},
		"names":                {wasmtest.Module{Types: someTypes, Imports: []wasmtest.Import{imported("abc", "def", 0)}, Funcs: []wasmtest.Func{function("ghi", 0, nil, code(0x0b))}}, func(c *meter.Config) { c.Names = 8 }, "bytes of the names of imports and exports"},
		"elements":             {many(func(h *wasmtest.Module) { h.Elements = repeatSlices(3, 1, 0, 2, 0, 0) }), func(c *meter.Config) { c.Items = 5 }, "elements of all element segments"},
	} {
		t.Run(name, func(t *testing.T) {
			limit, config := (*wasm.LimitError)(nil), meter.DefaultConfig()
			c.limit(&config)
			if _, err := meter.Rewrite(c.h.Bytes(), config); !errors.As(err, &limit) || limit.What != c.what {
				t.Errorf("error %v, want a LimitError of %s", err, c.what)
			}
		})
	}
}

func repeatSlices(n int, parts ...any) [][]byte { return slices.Repeat([][]byte{code(parts...)}, n) }

func TestReservedNamesAreRefused(t *testing.T) {
	for name, h := range map[string]wasmtest.Module{
		"import": {Types: someTypes, Imports: []wasmtest.Import{imported(meter.ImportModule, meter.ImportYield, tVoid)}},
		"export": {Types: someTypes, Funcs: []wasmtest.Func{function(meter.ExportFuel, tVoid, nil, code(0x0b))}},
	} {
		if _, err := meter.Rewrite(h.Bytes(), meter.DefaultConfig()); err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The names of the exports of the ABI are not reserved.
	h := wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("bulkhead_call", tVoid, nil, code(0x0b))}}
	if _, err := meter.Rewrite(h.Bytes(), meter.DefaultConfig()); err != nil {
		t.Error(err)
	}
}

// Indices beyond the module's own index spaces would refer to counters and helpers that Rewrite adds.
func TestRewriteRefusesMalformedModules(t *testing.T) {
	withGlobal := func(h wasmtest.Module) wasmtest.Module {
		h.Globals = [][]byte{{0x7e, 1, 0x42, 0, 0x0b}}
		h.Tables = [][]byte{{0x70, 0, 1}}
		return h
	}
	export := func(kind, index byte) wasmtest.Module {
		h := withGlobal(one(tVoid, nil, code(0x0b)))
		h.Exports = [][]byte{append(text("x"), kind, index)}
		return h
	}
	element := func(segment ...any) wasmtest.Module {
		h := withGlobal(one(tVoid, nil, code(0x0b)))
		h.Elements = [][]byte{code(segment...)}
		return h
	}
	starting := withGlobal(one(tVoid, nil, code(0x0b)))
	starting.Start = []byte{1}
	for name, h := range map[string]wasmtest.Module{
		"global.get of the fuel":      withGlobal(one(tVoid, nil, code(0x23, 1, 0x1a, 0x0b))),
		"global.set of the fuel":      withGlobal(one(tVoid, nil, code(0x42, 0, 0x24, 1, 0x0b))),
		"call of a helper":            withGlobal(one(tVoid, nil, code(i32(0), 0x10, 1, 0x1a, 0x0b))),
		"ref.func of a helper":        withGlobal(one(tVoid, nil, code(0xd2, 1, 0x1a, 0x0b))),
		"a branch past the function":  withGlobal(one(tVoid, nil, code(0x10, 0, 0x0c, 1, 0x0b))),
		"br_table past the function":  withGlobal(one(tVoid, nil, code(0x10, 0, i32(0), 0x0e, 1, 1, 0, 0x0b))),
		"a type of a block":           withGlobal(one(tVoid, nil, code(0x02, 6, 0x0b, 0x0b))),
		"a type of call_indirect":     withGlobal(one(tVoid, nil, code(i32(0), 0x11, 6, 0, 0x0b))),
		"an export of the fuel":       export(3, 1),
		"an export of a helper":       export(0, 1),
		"an element":                  element(0, i32(0), 0x0b, 1, 1),
		"an element's expression":     element(4, i32(0), 0x0b, 1, 0xd2, 1, 0x0b),
		"an element's table":          element(2, 1, i32(0), 0x0b, 0, 1, 0),
		"the start function":          starting,
		"code after the function":     one(tVoid, nil, code(0x0b, 0x01, 0x0b)),
		"a function without end":      one(tVoid, nil, code(0x02, 0x40, 0x0b)),
		"else without if":             one(tVoid, nil, code(0x02, 0x40, 0x05, 0x0b, 0x0b)),
		"a second else":               one(tVoid, nil, code(i32(0), 0x04, 0x40, 0x05, 0x05, 0x0b, 0x0b)),
		"an overlong opcode of v128":  one(tVoid, nil, code(0xfd, 0x8c, 0, 0x0b)),
		"relaxed v128":                one(tVoid, nil, code(0xfd, 0x80, 2, 0x0b)),
		"a tail call":                 one(tVoid, nil, code(0x12, 0, 0x0b)),
		"an atomic":                   one(tVoid, nil, code(i32(0), i32(0), 0xfe, 0, 2, 0, 0x0b)),
		"an exception":                one(tVoid, nil, code(0x06, 0x40, 0x0b, 0x0b)),
		"another memory":              one(tVoid, nil, code(i32(0), 0x28, 0x42, 1, 0, 0x1a, 0x0b)),
		"memory.size of another":      one(tVoid, nil, code(0x3f, 1, 0x1a, 0x0b)),
		"a truncated integer":         one(tVoid, nil, code(0x41, 0x80)),
		"an integer of too many bits": one(tVoid, nil, code(0x41, 0xff, 0xff, 0xff, 0xff, 0x17, 0x1a, 0x0b)),
		"memory.init without a count": one(tVoid, nil, code(i32(0), i32(0), i32(0), 0xfc, 8, 0, 0, 0x0b)),
		"ref.null of a number type":   one(tVoid, nil, code(0xd0, 0x7f, 0x1a, 0x0b)),
	} {
		t.Run(name, func(t *testing.T) {
			format := (*wasm.FormatError)(nil)
			if _, err := meter.Rewrite(h.Bytes(), meter.DefaultConfig()); !errors.As(err, &format) {
				t.Errorf("error %v, want a FormatError", err)
			}
		})
	}
}

func TestResultReportsState(t *testing.T) {
	mutable := func(t byte, init ...any) []byte { return code(append([]any{t, 1}, append(init, 0x0b)...)...) }
	with := func(body []byte, set func(*wasmtest.Module)) wasmtest.Module {
		h := one(tVoid, nil, code(body, 0x0b))
		h.Tables = [][]byte{{0x70, 0, 2}}
		h.Elements = [][]byte{{1, 0, 1, 0}}
		h.Data, h.Counted = [][]byte{{1, 1, 'x'}}, true
		h.Globals = [][]byte{
			mutable(0x7f, 0x41, 1), mutable(0x7b, 0xfd, 12, make([]byte, 16)), mutable(0x70, 0xd0, 0x70),
			{0x7e, 0, 0x42, 0, 0x0b}, mutable(0x7c, 0x44, make([]byte, 8)),
		}
		if set != nil {
			set(&h)
		}
		return h
	}
	globals := []meter.Global{{Export: "bulkhead:g0", Type: wasm.I32}, {Export: "bulkhead:g4", Type: wasm.F64}}
	zeros := code(i32(0), i32(0), i32(0))
	for name, c := range map[string]struct {
		h    wasmtest.Module
		want meter.Result
	}{
		"nothing":               {with(nil, nil), meter.Result{}},
		"memory.init":           {with(code(zeros, 0xfc, 8, 0, 0), nil), meter.Result{}},
		"table.get":             {with(code(i32(0), 0x25, 0, 0x1a), nil), meter.Result{}},
		"table.size":            {with(code(0xfc, 16, 0, 0x1a), nil), meter.Result{}},
		"table.set":             {with(code(i32(0), 0xd0, 0x70, 0x26, 0), nil), meter.Result{ChangesTables: true}},
		"table.init":            {with(code(zeros, 0xfc, 12, 0, 0), nil), meter.Result{ChangesTables: true}},
		"table.copy":            {with(code(zeros, 0xfc, 14, 0, 0), nil), meter.Result{ChangesTables: true}},
		"table.grow":            {with(code(0xd0, 0x70, i32(0), 0xfc, 15, 0, 0x1a), nil), meter.Result{ChangesTables: true}},
		"table.fill":            {with(code(i32(0), 0xd0, 0x70, i32(0), 0xfc, 17, 0), nil), meter.Result{ChangesTables: true}},
		"data.drop":             {with(code(0xfc, 9, 0), nil), meter.Result{DropsSegments: true}},
		"elem.drop":             {with(code(0xfc, 13, 0), nil), meter.Result{DropsSegments: true}},
		"in unreachable code":   {with(code(0x00, 0xfc, 13, 0), nil), meter.Result{DropsSegments: true}},
		"global.set of i32":     {with(code(i32(0), 0x24, 0), nil), meter.Result{}},
		"global.set of v128":    {with(code(0x23, 1, 0x24, 1), nil), meter.Result{UnrestorableGlobals: true}},
		"global.set of funcref": {with(code(0x23, 2, 0x24, 2), nil), meter.Result{UnrestorableGlobals: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.h.Bytes(), meter.DefaultConfig(), nil)
			got := r.result
			got.Module, c.want.Globals = nil, globals
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if only := (meter.Result{Globals: globals}); got.Restorable() != cmp.Equal(c.want, only) {
				t.Errorf("restorable: %v", got.Restorable())
			}
			for _, g := range got.Globals {
				if r.ExportedGlobal(g.Export) == nil {
					t.Errorf("export %s is missing", g.Export)
				}
			}
		})
	}
}

func TestImportedStateIsReported(t *testing.T) {
	importing := func(entry ...any) []byte {
		return wasm.AppendSection(wasm.Header(), wasm.SectionImport, vector([][]byte{code(append([]any{text("a"), text("b")}, entry...)...)}))
	}
	for name, c := range map[string]struct {
		module []byte
		want   bool
	}{
		"a memory":            {importing(2, 0, 1), true},
		"a table":             {importing(1, 0x70, 0, 1), true},
		"a mutable global":    {importing(3, 0x7f, 1), true},
		"an immutable global": {importing(3, 0x7f, 0), false},
	} {
		if got := rewrite(t, c.module); got.ImportsState != c.want {
			t.Errorf("%s: %v, want %v", name, got.ImportsState, c.want)
		}
	}
}

func TestRewriteIsDeterministic(t *testing.T) {
	module := buildGuest(t, echoGuest)
	if !bytes.Equal(rewrite(t, module).Module, rewrite(t, module).Module) {
		t.Error("the results differ")
	}
}
