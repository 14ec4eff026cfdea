package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a source file with one span replaced.
type mutant struct {
	file        string // absolute
	shown       string // relative to the module
	function    string
	content     []byte // of the file
	from, to    int
	replacement string
}

// key names a mutant without its line number, so that it stays the same when lines above it change.
func (m mutant) key() string {
	_, line := lineOf(m.content, m.from)
	return fmt.Sprintf("%s: %s: %s: %s -> %s", m.shown, m.function, line, oneLine(string(m.content[m.from:m.to])), oneLine(m.replacement))
}

func (m mutant) String() string {
	number, _ := lineOf(m.content, m.from)
	return fmt.Sprintf("%s:%d: %s", m.shown, number, strings.TrimPrefix(m.key(), m.shown+": "))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// source returns the changed file.
func (m mutant) source() []byte {
	return slices.Concat(m.content[:m.from], []byte(m.replacement), m.content[m.to:])
}

// mutantsOf returns the mutants of all files of a package, in their order.
func mutantsOf(p goPackage) ([]mutant, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		file := filepath.Join(p.Dir, name)
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, content, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		shown, err := filepath.Rel(root, file)
		if err != nil {
			return nil, err
		}
		c := collector{tokens: files.File(parsed.FileStart), base: mutant{file: file, shown: shown, content: content}}
		for _, declaration := range parsed.Decls {
			c.declaration(declaration)
		}
		all = append(all, c.found...)
	}
	return all, nil
}

// collector finds the decisions of one file.
type collector struct {
	tokens *token.File
	base   mutant
	found  []mutant
}

func (c *collector) text(node ast.Node) string {
	return string(c.base.content[c.tokens.Offset(node.Pos()):c.tokens.Offset(node.End())])
}

func (c *collector) add(node ast.Node, replacement string) {
	m := c.base
	m.from, m.to, m.replacement = c.tokens.Offset(node.Pos()), c.tokens.Offset(node.End()), replacement
	c.found = append(c.found, m)
}

func (c *collector) declaration(declaration ast.Decl) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Body == nil {
			return
		}
		c.base.function = d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			c.base.function = strings.TrimLeft(c.text(d.Recv.List[0].Type), "*") + "." + d.Name.Name
		}
		c.body(d.Body, d.Type)
	case *ast.GenDecl:
		c.base.function = d.Tok.String()
		if d.Tok == token.CONST {
			c.constants(d)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if literal, ok := n.(*ast.FuncLit); ok {
				c.body(literal.Body, literal.Type)
				return false
			}
			return true
		})
	}
}

// body collects the decisions of a function of type t. Functions within it have types of their own.
func (c *collector) body(body *ast.BlockStmt, t *ast.FuncType) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			c.body(n.Body, n.Type)
			return false
		case *ast.IfStmt:
			c.condition(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				c.cases(n)
			}
		case *ast.BinaryExpr:
			c.binary(n)
		case *ast.ReturnStmt:
			c.failure(n, t)
		case *ast.GenDecl:
			if n.Tok == token.CONST {
				c.constants(n)
			}
		}
		return true
	})
}

// condition takes each branch always. Of an error's check only the branch without the error is new: the other one fails everything.
func (c *collector) condition(cond ast.Expr) {
	c.add(cond, "("+c.text(cond)+") && false")
	if b, ok := cond.(*ast.BinaryExpr); !ok || b.Op != token.NEQ || c.text(b.Y) != "nil" {
		c.add(cond, "("+c.text(cond)+") || true")
	}
}

func (c *collector) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		for _, cond := range clause.(*ast.CaseClause).List {
			c.add(cond, "("+c.text(cond)+") && false")
		}
	}
}

// boundaries are the comparisons that differ in the equal case only.
var boundaries = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// binary leaves out an operand of && and ||, moves the bound of a comparison by one, and multiplies a literal bound by ten.
func (c *collector) binary(b *ast.BinaryExpr) {
	switch b.Op {
	case token.LAND, token.LOR:
		c.add(b, c.text(b.X))
		c.add(b, c.text(b.Y))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		c.add(b, c.text(b.X)+" "+boundaries[b.Op]+" "+c.text(b.Y))
		for _, side := range []ast.Expr{b.X, b.Y} {
			if isBound(side) {
				c.add(side, "(("+c.text(side)+") * 10)")
			}
		}
	}
}

// constants multiplies a bound by ten. Hexadecimal and octal constants are flags, modes and formats.
func (c *collector) constants(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			if isBound(value) {
				c.add(value, "(("+c.text(value)+") * 10)")
			}
		}
	}
}

// isBound reports whether an expression has decimal literals only, one of them above 1.
func isBound(value ast.Expr) bool {
	large, other := false, false
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			decimal := n.Kind == token.INT && (n.Value == "0" || n.Value[0] != '0')
			large = large || decimal && n.Value != "0" && n.Value != "1"
			other = other || !decimal
		case *ast.Ident:
			other = other || n.Name == "iota"
		case *ast.CallExpr, *ast.FuncLit, *ast.CompositeLit:
			other = true
		}
		return true
	})
	return large && !other
}

// failure returns success in place of an error.
func (c *collector) failure(r *ast.ReturnStmt, t *ast.FuncType) {
	if t.Results == nil || len(r.Results) == 0 {
		return
	}
	last := t.Results.List[len(t.Results.List)-1]
	if name, ok := last.Type.(*ast.Ident); !ok || name.Name != "error" || len(r.Results) != t.Results.NumFields() {
		return
	}
	if value := r.Results[len(r.Results)-1]; c.text(value) != "nil" {
		// The value is still evaluated, since it may be what has the effect.
		c.add(value, "func(error) error { return nil }("+c.text(value)+")")
	}
}
