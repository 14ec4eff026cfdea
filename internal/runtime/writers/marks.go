package writers

import (
	"errors"
	"os"
)

// errMarked says that another server has marked a directory.
var errMarked = errors.New("another server has claimed it")

// kind is what a mark says about the directory that has it.
type kind int64

// The values of kind.
const (
	here  kind = iota // a server has claimed the directory
	below             // a server has claimed a directory in it
	kinds             // number of kinds
)

// mark is one of the marks of a server.
type mark struct {
	key  string // of the directory
	kind kind
	path string // of the directory
}

// marked is a directory with marks. All marks of a server on one directory are on one open file description, since the marks of another one
// would count as those of another server.
type marked struct {
	file *os.File
	set  [kinds]bool
}

// marks are those of a server, by the keys of the directories.
type marks map[string]*marked

func (all marks) close() {
	for key, dir := range all {
		_ = dir.file.Close() // it is only read
		delete(all, key)
	}
}
