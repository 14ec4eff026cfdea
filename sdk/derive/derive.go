// Package derive computes data from the contents of files, such as the title of a document, and lets the host cache it.
// Start with New, which registers a derive function, and Func.Scan, which lists a directory with the data of its files:
//
//	type doc struct{ Title string }
//
//	func (d *doc) Fields(c *derive.Codec) { c.String(&d.Title) }
//
//	var docs = derive.New(func(content []byte) doc {
//		title, _, _ := strings.Cut(string(content), "\n")
//		return doc{Title: title}
//	})
//
//	for entry, err := range docs.Scan(dir, scan.Options{Match: []string{"*.md"}}) {
//
// The host runs a derive function once for each content, in a separate instance, and keeps the result for all later calls until the file
// changes. The function must therefore depend only on its argument. It has no files, environment variables or host operations, its output
// is discarded, and its clock and random numbers are the same each time. If the host has no result for a file, Scan itself reads the file
// and runs the function, which is slower but has the same result.
//
// A module that imports this package exports bulkhead_derive, and must not export that name itself.
//
// Stability: exported names stay within a major version. The encoding of values may change: the host caches results by
// the digest of the module.
package derive

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Func is a derive function whose results have the type T. It is safe for concurrent use if the function that was passed to New is.
type Func[T any] struct {
	number  uint32
	compute func(content []byte) T
	fields  func(*T, *Codec)
}

// functions are the registered functions, indexed by number. They return encoded values.
var functions []func(content []byte) []byte

// New registers a derive function. Call New to initialize a package-level variable: functions are numbered in the order of registration,
// which must be the same in every instance of the module. New panics if a module registers more than 64 functions. The function may modify
// and retain the content that it gets. The host runs the function on files of at most 4 MiB, and keeps results that take at most 1 MiB when
// encoded. For all other files, Scan runs the function, without these limits. When the module is prepared, the function is also called with
// empty content.
func New[T any, P record[T]](compute func(content []byte) T) *Func[T] {
	if len(functions) == abi.MaxScanFunctions {
		panic(fmt.Sprintf("derive: New is called for more than %d functions", abi.MaxScanFunctions))
	}
	f := &Func[T]{number: uint32(len(functions)), compute: compute, fields: func(v *T, c *Codec) { P(v).Fields(c) }}
	functions = append(functions, func(content []byte) []byte { return f.encode(compute(content)) })
	return f
}

// Compute runs the function on content. As in the results of Scan, only those fields are set that the method Fields of T passes to the
// codec.
func (f *Func[T]) Compute(content []byte) T {
	v, err := f.decode(f.encode(f.compute(content)))
	if err != nil {
		panic(fmt.Sprintf("derive: %T.Fields decodes a different value than it encodes: %v", v, err))
	}
	return v
}

func (f *Func[T]) encode(v T) []byte {
	return appendTo(nil, func(c *Codec) { f.fields(&v, c) })
}

func (f *Func[T]) decode(data []byte) (T, error) {
	var v T
	err := decode(data, func(c *Codec) { f.fields(&v, c) })
	return v, err
}

// prepare runs each function once. Whatever a function initializes in its first call then becomes part of the snapshot of the module.
func prepare() {
	for _, f := range functions {
		func() {
			defer func() { _ = recover() }() // a function may panic without content
			f(nil)
		}()
	}
}
