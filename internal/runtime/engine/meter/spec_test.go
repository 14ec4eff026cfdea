package meter_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// The test suite of the WebAssembly specification is part of wazero's source. The test executes it with original and with rewritten
// modules side by side. Each command must have the same result with both.

type specFile struct {
	Commands []specCommand `json:"commands"`
}

type specCommand struct {
	Type     string
	Line     int
	Name     string
	Filename string
	As       string
	Action   struct {
		Type, Field, Module string
		Args                []specValue
	}
}

type specValue struct {
	Type  string
	Lane  string `json:"lane_type"`
	Value any
}

// specDir returns the directory of the suite. If the suite is missing, the test fails, because a skipped test would go unnoticed.
func specDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("find wazero's source: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("wazero no longer contains the specification's test suite: %v; point this test to its new location", err)
	}
	return dir
}

func TestSpecificationSuite(t *testing.T) {
	dir := specDir(t)
	helper, err := os.ReadFile(filepath.Join(dir, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var all tally
	for _, version := range []string{"v1", "v2"} {
		files, err := filepath.Glob(filepath.Join(dir, version, "testdata", "*.json"))
		if err != nil || len(files) < 50 {
			t.Fatalf("%d files in suite %s, want at least 50: %v", len(files), version, err)
		}
		for i, file := range files {
			t.Run(version+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				if i%testenv.Count(16, 4, 1) != 0 {
					testenv.All(t, "compares thousands of cases")
				}
				s := newSpec(t, helper)
				s.run(t, file)
				all.add(s.tally)
			})
		}
	}
	t.Logf("%+v", all)
	// The suite of wazero 1.12 has more commands than these minimums. Far fewer comparisons would mean that the runner skips commands.
	if !testenv.IsAll() {
		return
	}
	if all.Modules < 2000 || all.Returned < 40_000 || all.Failed < 2_500 || all.Refused < 4_000 {
		t.Errorf("too few comparisons: %+v", all)
	}
}

// tally counts the comparisons of each kind.
type tally struct{ Modules, Returned, Failed, Refused, Skipped int }

func (a *tally) add(b tally) {
	a.Modules += b.Modules
	a.Returned += b.Returned
	a.Failed += b.Failed
	a.Refused += b.Refused
	a.Skipped += b.Skipped
}

// spec executes one file of the suite with original and rewritten modules.
type spec struct {
	tally
	dir   string
	sides [2]side
}

type side struct {
	runtime wazero.Runtime
	named   map[string]api.Module
	last    api.Module
}

func newSpec(t *testing.T, helper []byte) *spec {
	ctx := context.Background()
	s := &spec{}
	for i := range s.sides {
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
		t.Cleanup(func() { r.Close(ctx) })
		if _, err := r.InstantiateWithConfig(ctx, helper, wazero.NewModuleConfig().WithName("spectest").WithStartFunctions()); err != nil {
			t.Fatal(err)
		}
		instantiateYield(t, r, func(fuel api.MutableGlobal) { fuel.Set(1000) })
		s.sides[i] = side{runtime: r, named: map[string]api.Module{}}
	}
	return s
}

func (s *spec) run(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f specFile
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	s.dir = filepath.Dir(file)
	for i, c := range f.Commands {
		switch c.Type {
		case "module":
			s.module(t, c, registeredAs(f.Commands[i:]))
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			s.act(t, c)
		case "assert_invalid", "assert_malformed":
			s.refuse(t, c)
		case "assert_uninstantiable", "assert_unlinkable":
			s.module(t, c, "")
		case "register":
		default:
			t.Fatalf("line %d: unknown command %s", c.Line, c.Type)
		}
	}
}

// registeredAs returns the name by which later modules import the module that the first of commands defines.
func registeredAs(commands []specCommand) string {
	for _, c := range commands[1:] {
		if c.Type == "register" && (c.Name == commands[0].Name || c.Name == "") {
			return c.As
		}
		if c.Type == "module" && commands[0].Name == "" {
			return ""
		}
	}
	return ""
}

// versions returns a module and its rewritten version. It returns nil if the module is not binary, or if wazero refuses it.
func (s *spec) versions(t *testing.T, c specCommand) [][]byte {
	if !strings.HasSuffix(c.Filename, ".wasm") {
		return nil
	}
	original, err := os.ReadFile(filepath.Join(s.dir, c.Filename))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := s.sides[0].runtime.CompileModule(context.Background(), original)
	if err != nil {
		return nil
	}
	compiled.Close(context.Background())
	r, err := meter.Rewrite(original, meter.DefaultConfig())
	if c.Filename == "binary-leb128.81.wasm" {
		// The module has an overlong opcode, which the specification allows and Rewrite refuses.
		if err == nil || !strings.Contains(err.Error(), "overlong encoding of 2 bytes") {
			t.Errorf("line %d: %s: rewrite: %v, want an error about its overlong opcode", c.Line, c.Filename, err)
		}
		return nil
	}
	if err != nil {
		t.Errorf("line %d: %s: rewrite: %v", c.Line, c.Filename, err)
		return nil
	}
	return [][]byte{original, r.Module}
}

func (s *spec) module(t *testing.T, c specCommand, as string) {
	versions := s.versions(t, c)
	if versions == nil {
		s.Skipped++
		return
	}
	s.Modules++
	var failed [2]error
	for i := range s.sides {
		side := &s.sides[i]
		m, err := side.runtime.InstantiateWithConfig(context.Background(), versions[i], wazero.NewModuleConfig().WithName(as).WithStartFunctions())
		failed[i] = err
		if err == nil {
			side.last = m
			side.named[c.Name] = m
			side.named[c.Filename] = m
		}
	}
	if (failed[0] == nil) != (failed[1] == nil) {
		t.Errorf("line %d: %s: instantiate: %v, and rewritten: %v", c.Line, c.Filename, failed[0], failed[1])
	}
}

// refuse checks that an invalid module stays invalid when it is rewritten.
func (s *spec) refuse(t *testing.T, c specCommand) {
	if !strings.HasSuffix(c.Filename, ".wasm") {
		return
	}
	original, err := os.ReadFile(filepath.Join(s.dir, c.Filename))
	if err != nil {
		t.Fatal(err)
	}
	if compiled, err := s.sides[0].runtime.CompileModule(context.Background(), original); err == nil {
		compiled.Close(context.Background())
		return // the module is valid in later versions of the specification
	}
	s.Refused++
	r, err := meter.Rewrite(original, meter.DefaultConfig())
	if err != nil {
		return
	}
	if compiled, err := s.sides[1].runtime.CompileModule(context.Background(), r.Module); err == nil {
		compiled.Close(context.Background())
		t.Errorf("line %d: %s is invalid, but valid when rewritten", c.Line, c.Filename)
	}
}

func (s *spec) act(t *testing.T, c specCommand) {
	var results [2][]uint64
	var failed [2]string
	for i := range s.sides {
		side := &s.sides[i]
		m := side.last
		if c.Action.Module != "" {
			m = side.named[c.Action.Module]
		}
		if m == nil {
			s.Skipped++
			return
		}
		for _, m := range side.named {
			// The suite continues to use instances after a trap, and a trap does not restore the counter.
			if stack, ok := m.ExportedGlobal(meter.ExportStack).(api.MutableGlobal); ok {
				stack.Set(meter.DefaultStack)
			}
		}
		var err error
		results[i], err = perform(m, c)
		failed[i] = reason(err)
	}
	if failed[0] != "" {
		s.Failed++
	} else {
		s.Returned++
	}
	if d := cmp.Diff(failed[0], failed[1]); d != "" {
		t.Errorf("line %d: %s: trap (-original +rewritten):\n%s", c.Line, c.Action.Field, d)
	}
	if !slices.Equal(results[0], results[1]) {
		t.Errorf("line %d: %s: results %x, and rewritten %x", c.Line, c.Action.Field, results[0], results[1])
	}
	if filepath.Base(filepath.Dir(s.dir)) == "v1" {
		return // in version 1, a failed instantiation had no side effects, but wazero implements version 2
	}
	if wantsTrap := c.Type == "assert_trap" || c.Type == "assert_exhaustion"; wantsTrap != (failed[1] != "") {
		t.Errorf("line %d: %s: %s ended with %q", c.Line, c.Type, c.Action.Field, failed[1])
	}
}

func perform(m api.Module, c specCommand) ([]uint64, error) {
	if c.Action.Type == "get" {
		g := m.ExportedGlobal(c.Action.Field)
		if g == nil {
			return nil, errors.New("no such global")
		}
		return []uint64{g.Get()}, nil
	}
	f := m.ExportedFunction(c.Action.Field)
	if f == nil {
		return nil, errors.New("no such function")
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.bits()...)
	}
	results, err := f.Call(context.Background(), args...)
	for i, r := range results {
		// A reference is represented by an address, which differs between instances.
		if i < len(f.Definition().ResultTypes()) && f.Definition().ResultTypes()[i] == 0x70 && r != 0 {
			results[i] = 1
		}
	}
	return results, err
}

// reason returns the first line of an error. The stack overflows of original and of rewritten modules have the same reason.
func reason(err error) string {
	if err == nil {
		return ""
	}
	first, stack, _ := strings.Cut(err.Error(), "\n")
	if strings.Contains(stack, "bulkhead:enter") || strings.Contains(first, "stack overflow") {
		return tooDeep
	}
	return first
}

const tooDeep = "calls nest too deep"

// bits returns the value of an argument in the representation of wazero.
func (v specValue) bits() []uint64 {
	if v.Type != "v128" {
		text, _ := v.Value.(string)
		n, null := number(text)
		switch {
		case null:
			return []uint64{0}
		case v.Type == "externref":
			return []uint64{n + 1}
		case strings.Contains(v.Type, "32"):
			return []uint64{uint64(uint32(n))}
		}
		return []uint64{n}
	}
	lanes, _ := v.Value.([]any)
	width := 128 / max(1, len(lanes))
	var both [2]uint64
	for i, lane := range lanes {
		n, _ := number(lane.(string))
		if width < 64 {
			n &= 1<<width - 1
		}
		both[i*width/64] |= n << (i * width % 64)
	}
	return both[:]
}

func number(text string) (n uint64, null bool) {
	if text == "null" || text == "" {
		return 0, true
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, false
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxUint64, false
	}
	return uint64(i), false
}
