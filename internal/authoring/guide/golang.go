package guide

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// imports are the packages that blocks in Go can use without import declarations.
var imports = []string{
	"bytes", "context", "crypto/rand", "encoding/json", "errors", "fmt", "io/fs", "os", "path/filepath", "regexp", "slices", "strconv", "strings", "testing", "time",
	"github.com/bulkhead-mcp/bulkhead/sdk", "github.com/bulkhead-mcp/bulkhead/sdk/abi", "github.com/bulkhead-mcp/bulkhead/sdk/atomicfile",
	"github.com/bulkhead-mcp/bulkhead/sdk/derive", "github.com/bulkhead-mcp/bulkhead/sdk/digest", "github.com/bulkhead-mcp/bulkhead/sdk/fetch",
	"github.com/bulkhead-mcp/bulkhead/sdk/git", "github.com/bulkhead-mcp/bulkhead/sdk/rawjson", "github.com/bulkhead-mcp/bulkhead/sdk/scan", "github.com/bulkhead-mcp/bulkhead/sdk/sdktest",
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction",
}

const goMain = "func init() { sdk.Serve(plugin()) }\n\nfunc main() {}\n\n"

// Go returns the source files of the plugin that consists of a page's blocks in Go: main.go, and main_test.go if there are tests among the
// blocks. The blocks have declarations without package clause and imports; one of the declarations is the function plugin. If a page
// extends an existing plugin, base is the source of that plugin: functions in blocks replace those in base.
func Go(blocks []Block, base string) (map[string]string, error) {
	var code, tests strings.Builder
	for _, b := range blocks {
		if b.Language != "go" || b.File != "" || b.Untested != "" {
			continue
		}
		if strings.Contains(b.Text, "*testing.T") {
			tests.WriteString(b.Text + "\n")
			continue
		}
		code.WriteString(b.Text + "\n")
	}
	text := goMain + code.String()
	if base != "" {
		kept, err := without(base, code.String())
		if err != nil {
			return nil, err
		}
		text = kept + "\n" + code.String()
	}
	files := map[string]string{}
	for name, text := range map[string]string{"main.go": text, "main_test.go": tests.String()} {
		if text == "" {
			continue
		}
		complete, err := withImports(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", name, err, text)
		}
		files[name] = complete
	}
	return files, nil
}

// without returns the declarations of base, except for imports and for functions that other declares too.
func without(base, other string) (string, error) {
	files := token.NewFileSet()
	replacing, err := parser.ParseFile(files, "", "package p\n"+other, 0)
	if err != nil {
		return "", err
	}
	replaced := map[string]bool{}
	for _, d := range replacing.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			replaced[f.Name.Name] = true
		}
	}
	file, err := parser.ParseFile(files, "", base, parser.ParseComments)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && replaced[f.Name.Name] {
			continue
		}
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		out.WriteString(base[files.Position(d.Pos()).Offset:files.Position(d.End()).Offset] + "\n\n")
	}
	return out.String(), nil
}

// withImports returns declarations with the package clause and the import declarations that they need.
func withImports(declarations string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", "package main\n"+declarations, 0)
	if err != nil {
		return "", err
	}
	var used []string
	for _, id := range file.Unresolved {
		for _, p := range imports {
			if path.Base(p) == id.Name && !slices.Contains(used, p) {
				used = append(used, p)
			}
		}
	}
	slices.Sort(used)
	text := "package main\n\nimport (\n"
	for _, p := range used {
		text += fmt.Sprintf("\t%q\n", p)
	}
	formatted, err := format.Source([]byte(text + ")\n\n" + declarations))
	return string(formatted), err
}
