//go:build sources

// Package sqlite names the Go module whose copy of SQLite's amalgamation ./build compiles: go.mod and go.sum pin it. No Go code is compiled.
package sqlite

import _ "github.com/mattn/go-sqlite3"
