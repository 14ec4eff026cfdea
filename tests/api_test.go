//go:build unix

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

// publicPackages returns the packages that other modules may import: host, sdk, and the packages below sdk.
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

// exported lists the exported declarations of a package without comments and bodies, sorted. An alias of a type that
// users cannot import is followed by the declarations of that type.
func exported(t *testing.T, dir string) string {
	t.Helper()
	declarations := declared(t, dir, nil)
	slices.Sort(declarations)
	return strings.Join(declarations, "\n") + "\n"
}

// declared lists the exported declarations of a package. Unless names is nil, it lists only these types and their methods.
func declared(t *testing.T, dir string, names []string) []string {
	t.Helper()
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declarations []string
	aliased := map[string][]string{} // names of aliased types by directory
	for _, name := range pkg.GoFiles {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, declaration := range file.Decls {
			for _, single := range split(declaration) {
				if names != nil && !slices.Contains(names, subject(single)) {
					continue
				}
				if from, target := aliasOf(single, file.Imports); from != "" {
					aliased[from] = append(aliased[from], target)
				} else {
					checkTypes(t, filepath.Join(dir, name), single, file.Imports)
				}
				var text bytes.Buffer
				if err := printer.Fprint(&text, files, single); err != nil {
					t.Fatal(err)
				}
				declarations = append(declarations, text.String())
			}
		}
	}
	for from, targets := range aliased {
		declarations = append(declarations, declared(t, from, targets)...)
	}
	return declarations
}

// subject returns the type that a declaration declares, or whose method it is.
func subject(declaration ast.Decl) string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return receiverName(d.Recv.List[0].Type)
		}
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
			return spec.Name.Name
		}
	}
	return ""
}

// aliasOf returns the directory and the name of the internal type of which a declaration is an alias.
func aliasOf(declaration ast.Decl, imports []*ast.ImportSpec) (dir, name string) {
	d, ok := declaration.(*ast.GenDecl)
	if !ok || d.Tok != token.TYPE || !d.Specs[0].(*ast.TypeSpec).Assign.IsValid() {
		return "", ""
	}
	target, ok := d.Specs[0].(*ast.TypeSpec).Type.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if dir := internalPackage(target, imports); dir != "" {
		return dir, target.Sel.Name
	}
	return "", ""
}

// internalPackage returns the directory of the package of this repository that a selector refers to, if users cannot
// import it.
func internalPackage(selector *ast.SelectorExpr, imports []*ast.ImportSpec) string {
	from, ok := selector.X.(*ast.Ident)
	for _, spec := range imports {
		path := strings.Trim(spec.Path.Value, `"`)
		pkg, own := strings.CutPrefix(path, module+"/")
		if ok && own && strings.Contains("/"+pkg, "/internal/") && strings.HasSuffix(pkg, "/"+from.Name) {
			return filepath.Join("..", pkg)
		}
	}
	return ""
}

// checkTypes reports types of internal packages in an exported declaration: users cannot name the type of such a field or
// parameter.
func checkTypes(t *testing.T, file string, declaration ast.Decl, imports []*ast.ImportSpec) {
	t.Helper()
	ast.Inspect(declaration, func(n ast.Node) bool {
		if value, ok := n.(*ast.ValueSpec); ok && value.Type == nil {
			return false
		}
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if dir := internalPackage(selector, imports); dir != "" {
				t.Errorf("%s: %s.%s in the exported API needs a public alias", file, dir, selector.Sel.Name)
			}
		}
		return true
	})
}

// split divides a group of types into single declarations, and drops imports, methods of unexported types and bodies. Groups of constants and
// variables stay, since iota depends on the group.
func split(declaration ast.Decl) []ast.Decl {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !ast.IsExported(receiverName(d.Recv.List[0].Type)) {
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

// receiverName returns the type of a receiver.
func receiverName(receiver ast.Expr) string {
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr: // a type with a parameter
			receiver = r.X
		case *ast.Ident:
			return r.Name
		default:
			return ""
		}
	}
}

func TestExportedAPIIsListed(t *testing.T) {
	t.Parallel()
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
