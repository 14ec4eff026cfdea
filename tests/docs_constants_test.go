//go:build unix

package tests

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// formats are the forms in which pages state constants.
var formats = map[string]func(n int64) string{
	"":    func(n int64) string { return grouped(n) },
	"KiB": func(n int64) string { return grouped(n>>10) + " KiB" },
	"MiB": func(n int64) string { return grouped(n>>20) + " MiB" },
	"GiB": func(n int64) string { return grouped(n>>30) + " GiB" },
	"s":   func(n int64) string { return grouped(n/int64(time.Second)) + " s" },
	"min": func(n int64) string { return grouped(n/int64(time.Minute)) + " min" },
	"ms":  func(n int64) string { return grouped(n/int64(time.Millisecond)) + " ms" },
	"d":   func(n int64) string { return grouped(n/int64(24*time.Hour)) + " days" },
}

// grouped formats a number as pages do: 10,000.
func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// statements are the sentences of pages that state a constant of the program, as %s.
var statements = []struct{ page, text, directory, name, format string }{
	{"http.md", "| header, with the request line | %s | 431 |", "internal/protocol/httpserver", "maxHeader", "KiB"},
	{"http.md", "| time for a header, for a body | %s, ", "internal/protocol/httpserver", "headerTimeout", "s"},
	{"http.md", "for a body | 10 s, %s |", "internal/protocol/httpserver", "bodyTimeout", "s"},
	{"http.md", "to take what is written at once | %s |", "internal/protocol/httpserver", "writeTimeout", "s"},
	{"http.md", "connection of HTTP/2 at once | %s |", "internal/protocol/httpserver", "maxConcurrent", ""},
	{"http.md", "| idle connection | %s |", "internal/protocol/httpserver", "idleTimeout", "min"},
	{"http.md", "| requests that are handled at once | %s |", "internal/protocol/httpserver", "maxRequests", ""},
	{"http.md", "| streams of GET and `subscriptions/listen` | %s |", "internal/protocol/httpserver", "maxStreams", ""},
	{"http.md", "| sessions | %s |", "internal/protocol/httpserver", "maxSessions", ""},
	{"cluster.md", "%s sessions", "tests/bench/capacity", "maxSessions", ""},
	{"cluster.md", "%s streams", "tests/bench/capacity", "maxStreams", ""},
	{"cluster.md", "%s sessions", "internal/protocol/httpserver", "maxSessions", ""},
	{"cluster.md", "%s streams", "internal/protocol/httpserver", "maxStreams", ""},
	{"http.md", "those up to %s are not counted", "internal/protocol/httpserver", "smallBody", "KiB"},
	{"http.md", "gets 503 with `Retry-After`, %s at a time", "internal/protocol/httpserver", "maxRefusals", ""},
	{"http.md", "`token new` writes %s random bits", "internal/protocol/bearer", "SecretBits", ""},
	{"http.md", "Up to %s are kept", "internal/protocol/bearer", "maxNamed", ""},
	{"http.md", "wait for the keys of one issuer | %s | 503 |", "internal/protocol/oauth", "maxWaiting", ""},
	{"http.md", "A token has at most %s, and documents", "internal/protocol/oauth", "maxToken", "KiB"},
	{"http.md", "documents of the provider %s.", "internal/protocol/oauth", "maxDocument", "KiB"},
	{"http.md", "fetched again after %s, or when", "internal/protocol/oauth", "refreshAfter", "min"},
	{"http.md", "at most every %s. While", "internal/protocol/oauth", "fetchPause", "s"},
	{"http.md", "known keys are used for %s; without", "internal/protocol/oauth", "keepKeys", "min"},
	{"internals.md", "those that arrive within %s after the last call", "internal/protocol/gateway", "refuseGrace", "ms"},
	{"context.md", "in memory only, for %s, at most", "internal/runtime/results", "lifetime", "min"},
	{"context.md", "A result of more than %s is not kept", "internal/runtime/results", "maxText", "MiB"},
	{"context.md", "results and %s of a client", "internal/runtime/results", "maxOwnedBytes", "MiB"},
	{"context.md", "of a client and %s of all", "internal/runtime/results", "maxAllBytes", "MiB"},
	{"internals.md", "at most %s, and compares the SHA-256", "internal/runtime/engine/code", "MaxModule", "MiB"},
	{"internals.md", "has one directory, %s of memory (`RLIMIT_DATA`)", "internal/runtime/engine/code", "compilerMemory", "GiB"},
	{"internals.md", "Entries that were not loaded for %s are removed", "internal/runtime/engine/code", "unusedAge", "d"},
	{"internals.md", "and a maximum of %s elements for each table", "internal/runtime/engine/meter", "DefaultTableMax", ""},
	{"internals.md", "(%s). An entry that is used moves", "internal/runtime/derived", "maxMemory", "MiB"},
	{"internals.md", "At %s the newer file becomes the older one", "internal/runtime/derived", "maxFile", "MiB"},
	{"abi.md", "`host_call` with more than %s |", "internal/runtime/engine", "maxOperation", "MiB"},
	{"abi.md", "Lines are truncated at %s,", "internal/runtime/engine", "maxLogLine", "KiB"},
	{"abi.md", "with at least %s bytes for each line", "internal/runtime/engine", "minLogLine", ""},
	{"abi.md", "move a directory of more than %s entries", "internal/sandbox/vfs", "maxMoved", ""},
	{"abi.md", "hold listings of open directories of more than %s in total", "internal/sandbox/vfs", "maxListed", "MiB"},
	{"abi.md", "`limits.output`, %s | the call ends", "internal/runtime/engine", "defaultOutput", "MiB"},
	{"abi.md", "| the request's parameters | %s |", "internal/runtime/engine", "defaultInput", "MiB"},
	{"abi.md", "`limits.memory`, %s | `memory.grow` returns -1", "internal/runtime/engine", "defaultMemory", "MiB"},
	{"abi.md", "| time of one call, including the start of a fresh instance | `limits.time`, %s |", "internal/runtime/engine", "defaultTime", "s"},
	{"abi.md", "| `limits.operations`, %s |", "internal/runtime/engine", "defaultOperations", ""},
	{"abi.md", "| `limits.log`, %s |", "internal/runtime/engine", "defaultLogSize", "MiB"},
	{"abi.md", "content; result | at most %s; at most 1 MiB", "sdk/abi", "MaxScanInput", "MiB"},
}

// TestDocsConstantsAreThoseOfTheProgram compares bounds and times that pages state with the constants of the program.
func TestDocsConstantsAreThoseOfTheProgram(t *testing.T) {
	constants := map[string]map[string]int64{}
	for _, s := range statements {
		known, ok := constants[s.directory]
		if !ok {
			known = constantsOf(t, filepath.Join("..", s.directory))
			constants[s.directory] = known
		}
		value, ok := known[s.name]
		if !ok {
			t.Errorf("%s has no constant %s", s.directory, s.name)
			continue
		}
		page := strings.Join(strings.Fields(readFile(t, filepath.Join("..", "docs", s.page))), " ")
		if want := fmt.Sprintf(s.text, formats[s.format](value)); !strings.Contains(page, want) {
			t.Errorf("docs/%s does not contain %q, by the constant %s of %s", s.page, want, s.name, s.directory)
		}
	}
}

// constantsOf evaluates the integer constants of a package that depend on no other package, except on the units of package time.
func constantsOf(t *testing.T, directory string) map[string]int64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v", directory, err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{Importer: onlyTime{}, IgnoreFuncBodies: true, Error: func(error) {}} // other packages are unknown
	pkg, _ := config.Check(directory, fset, files, nil)
	found := map[string]int64{}
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok && c.Val().Kind() != constant.Unknown {
			if n, exact := constant.Int64Val(constant.ToInt(c.Val())); exact {
				found[name] = n
			}
		}
	}
	return found
}

// onlyTime imports package time, of which it knows the units.
type onlyTime struct{}

// Import implements types.Importer.
func (onlyTime) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, fmt.Errorf("%s is not needed", path)
	}
	pkg := types.NewPackage("time", "time")
	duration := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "Duration", nil), types.Typ[types.Int64], nil)
	pkg.Scope().Insert(duration.Obj())
	for name, unit := range map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour} {
		pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, name, duration, constant.MakeInt64(int64(unit))))
	}
	pkg.MarkComplete()
	return pkg, nil
}
