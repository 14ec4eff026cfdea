// Package bulkhead embeds the sources of the SDKs for `bulkhead plugin new`. It is at the top of the repository because the go
// command embeds only files in or below the directory of a package. It is not a public API: plugins use package sdk.
package bulkhead

import "embed"

// Sources has the sources of the SDKs, by path in the repository, with what they need from the top directory: go.mod, go.sum and
// LICENSE. The patterns of Go files match all names but those that end in _test.go: patterns cannot exclude files.
//
//go:embed LICENSE go.mod go.sum
//go:embed sdk/*[^t].go sdk/*[^s]t.go sdk/*[^e]st.go
//go:embed sdk/*/*[^t].go sdk/*/*[^s]t.go sdk/*/*[^e]st.go sdk/*/*[^t]est.go sdk/*/*[^_]test.go
//go:embed sdk/*/*/*[^t].go sdk/*/*/*[^s]t.go
//go:embed sdk/rust/Cargo.toml sdk/rust/src
//go:embed sdk/c/bulkhead.h
//go:embed sdk/assemblyscript/package.json sdk/assemblyscript/assembly
//go:embed sdk/javascript/package.json sdk/javascript/bin sdk/javascript/src sdk/javascript/wasm sdk/javascript/*.d.ts
var Sources embed.FS
