package tests

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the listings of the exported API in api/")

// publicPackages are the packages that others may import: host, and sdk with what is below it.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var public []string
	for pkg := range packages(t) {
		if (pkg == "host" || pkg == "sdk" || strings.HasPrefix(pkg, "sdk/")) && !strings.Contains(pkg, "/internal") {
			public = append(public, pkg)
		}
	}
	slices.Sort(public)
	return public
}

// exported lists the exported declarations of a package without comments and bodies, sorted.
func exported(t *testing.T, dir string) string {
	t.Helper()
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declarations []string
	for _, name := range pkg.GoFiles {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, declaration := range file.Decls {
			for _, single := range split(declaration) {
				var text bytes.Buffer
				if err := printer.Fprint(&text, files, single); err != nil {
					t.Fatal(err)
				}
				declarations = append(declarations, text.String())
			}
		}
	}
	slices.Sort(declarations)
	return strings.Join(declarations, "\n") + "\n"
}

// split divides a group of types into single declarations, and drops imports, methods of unexported types and bodies. Groups of constants and
// variables stay, since iota depends on the group.
func split(declaration ast.Decl) []ast.Decl {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !isExportedReceiver(d.Recv.List[0].Type) {
			return nil
		}
		d.Body = nil
	case *ast.GenDecl:
		switch d.Tok {
		case token.IMPORT:
			return nil
		case token.TYPE:
			var all []ast.Decl
			for _, spec := range d.Specs {
				all = append(all, &ast.GenDecl{Tok: token.TYPE, Specs: []ast.Spec{spec}})
			}
			return all
		}
	}
	return []ast.Decl{declaration}
}

func isExportedReceiver(receiver ast.Expr) bool {
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr: // a type with a parameter
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return true
		}
	}
}

func TestExportedAPIIsListed(t *testing.T) {
	listed, err := filepath.Glob("../api/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range publicPackages(t) {
		file := filepath.Join("..", "api", strings.ReplaceAll(pkg, "/", "-")+".txt")
		listed = slices.DeleteFunc(listed, func(f string) bool { return f == file })
		got := exported(t, filepath.Join("..", pkg))
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v: list it with `go test ./tests -run API -update`", err)
			continue
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the exported API of %s differs from %s; if that is intended, run `go test ./tests -run API -update` and describe it in CHANGELOG.md:\n%s", pkg, file, diff)
		}
	}
	for _, file := range listed {
		t.Errorf("%s lists no public package", file)
	}
}
