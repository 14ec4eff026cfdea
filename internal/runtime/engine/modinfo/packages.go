package modinfo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// namesFunctions is the id of the subsection of the name section that has the names of functions.
const namesFunctions = 1

// Names of the Parts that have the functions without a package, and those of packages beyond maxPackages.
const (
	unnamed = "(no package)"
	beyond  = "(other packages)"
)

// sumPackages adds up the code of each package by the names of the functions. It leaves Packages nil if the language is neither Go nor
// Rust, or if the module has no names.
func (m *reader) sumPackages() {
	packageOf := map[Language]func(string) string{Go: goPackage, Rust: crate}[m.language()]
	if packageOf == nil || m.names == nil {
		return
	}
	sizes := map[string]int{}
	m.functionNames(func(index int, name string) {
		in := cmp.Or(bounded(packageOf(name)), unnamed)
		if _, known := sizes[in]; !known && len(sizes) >= maxPackages {
			in = beyond
		}
		sizes[in] += int(m.code[index])
	})
	for name, size := range sizes {
		m.info.Packages = append(m.info.Packages, Part{name, size})
	}
	slices.SortFunc(m.info.Packages, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Name, b.Name))
	})
	if over := len(m.info.Packages) - maxListed; over > 0 {
		m.info.Packages, m.info.LeftOut.Packages = m.info.Packages[:maxListed], over
	}
}

// functionNames calls f with the names of the functions that the module defines, until the name section ends or is malformed. index
// is an index of m.code. A function is named at most once, because the indices must ascend.
func (m *reader) functionNames(f func(index int, name string)) {
	r := wasm.NewReader(m.names, m.namesAt)
	for r.Len() > 0 {
		id := r.Byte()
		content := r.Bytes(r.U32())
		if id != namesFunctions {
			continue
		}
		names := wasm.NewReader(content, 0)
		last := int64(-1)
		for range names.Count("function names", len(content)) {
			number, name := int64(names.U32()), names.Name()
			if names.Err() != nil || number <= last {
				return
			}
			last = number
			if index := number - int64(m.imported); index >= 0 && index < int64(len(m.code)) {
				f(int(index), string(name))
			}
		}
		return
	}
}

// goPackage returns the package of a function as Go's linker names it: the linker writes "_" for every character other than letters,
// digits and dots, so "github.com_x_y" is the package github.com/x/y. It returns "" if the name has no package.
func goPackage(name string) string {
	head, rest, found := strings.Cut(name, ".")
	if !found {
		return ""
	}
	if head == "type_" {
		return "type:" // equality and hash functions of the compiler
	}
	// The domain with which an import path begins has a dot, and a slash after its last label.
	label, path, domain := strings.Cut(rest, "_")
	if !domain || !isLabel(label) {
		return head
	}
	if path, _, found = strings.Cut(path, "."); !found {
		return head
	}
	return head + "." + label + "_" + path
}

// isLabel reports whether s may be the last label of a domain.
func isLabel(s string) bool {
	return len(s) >= 2 && strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) < 0
}

// crate returns the crate of a Rust function from its demangled name; "" if it has none.
func crate(name string) string {
	head, _, found := strings.Cut(strings.TrimLeft(name, "<&*"), "::")
	if !found || strings.ContainsFunc(head, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return ""
	}
	return head
}
