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

// marksOf returns the mark of the directory of a claim, and those of the directories that contain it.
func marksOf(c claim) []mark {
	all := []mark{{c.Key, here, c.Path}}
	for i, path := range c.ancestors {
		all = append(all, mark{c.Above[i], below, path})
	}
	return all
}

// markedDir is a directory with marks. All marks of a server on one directory are on one open file description, since the marks of another one
// would count as those of another server.
type markedDir struct {
	file *os.File
	set  [kinds]bool
}

// markedDirs are those of a server, by the keys of the directories.
type markedDirs map[string]*markedDir

func (all markedDirs) close() {
	for key, dir := range all {
		_ = dir.file.Close() // it is only read
		delete(all, key)
	}
}
