package board

import (
	"fmt"
	"iter"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
)

// LoadForSearch loads the board for a call of Board.Search. The argument lower is the searched text in lower case.
func LoadForSearch(dir store.Dir, git Git, lower string) (*Board, error) {
	return newBoard(dir, git, defaultLimits, searched(dir, lower))
}

// searched returns all spec files in the order of their paths, and for each file whether its body contains the text
// lower.
func searched(dir store.Dir, lower string) iter.Seq2[specFile, error] {
	return specFiles(dir, searchables, func(file *specFile, value *searchable) {
		file.summary, file.matches = value.summary.detached(), strings.Contains(value.lower, lower)
	})
}

// Search returns the entries for which keep returns true and whose body, which includes the title, contains the text
// that was passed to LoadForSearch. If a file cannot be searched, Search calls failed with the error.
func (b *Board) Search(lower string, keep func(*Entry) bool, failed func(error)) []*Entry {
	var hits []*Entry
	for _, entry := range b.Entries {
		if !keep(entry) {
			continue
		}
		if entry.unmatched {
			read, err := b.open(entry.File)
			if err != nil {
				failed(fmt.Errorf("spec '%s': %w", entry.ID, err))
				continue
			}
			entry.matches, entry.unmatched = strings.Contains(fold.Lower(read.Spec.Body), lower), false
		}
		if entry.matches {
			hits = append(hits, entry)
		}
	}
	return hits
}
