package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRegistrationsHaveExamples checks that each exported function that registers a handler has a runnable example.
func TestRegistrationsHaveExamples(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	examples, registrations := map[string]bool{}, []string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if of, ok := strings.CutPrefix(f.Name.Name, "Example"); ok && strings.HasSuffix(name, "_test.go") && hasOutput(file, f) {
				examples[of] = true
			}
			if !strings.HasSuffix(name, "_test.go") && (strings.HasPrefix(f.Name.Name, "Handle") || f.Name.Name == "Serve") {
				registrations = append(registrations, exampleName(f))
			}
		}
	}
	if len(registrations) < 6 {
		t.Fatalf("found only the registrations %q", registrations)
	}
	for _, r := range registrations {
		if !examples[r] {
			t.Errorf("there is no function Example%s with an output", r)
		}
	}
}

// exampleName returns the name of a function in the name of its example.
func exampleName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	return receiver.(*ast.Ident).Name + "_" + f.Name.Name
}

// hasOutput reports whether go test runs an example.
func hasOutput(file *ast.File, f *ast.FuncDecl) bool {
	for _, group := range file.Comments {
		if f.Body.Pos() < group.Pos() && group.End() < f.Body.End() && strings.HasPrefix(group.Text(), "Output:") {
			return true
		}
	}
	return false
}

// TestRootPackageImportsOnlyStandardLibrary checks all dependencies of package sdk, so that a plugin's go.mod needs nothing else.
func TestRootPackageImportsOnlyStandardLibrary(t *testing.T) {
	const module = "github.com/bulkhead-mcp/bulkhead/sdk"
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	list.Env = append(list.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 3 {
		t.Fatalf("found only %q", packages)
	}
	for _, p := range packages {
		if p != module && !strings.HasPrefix(p, module+"/") {
			t.Errorf("package sdk depends on %s", p)
		}
	}
}
