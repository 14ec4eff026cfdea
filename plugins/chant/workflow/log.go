package workflow

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// maxLog is the maximum number of bytes of an execution log that Log returns.
const maxLog = 4 << 20

// Log returns the last lines of a spec's execution log.
func (p *Project) Log(id string, lines uint64) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	path := p.Dir.Log(entry.ID)
	if err := p.Dir.Contains(path); err != nil {
		return "", err
	}
	text, cut, err := store.Tail(path, lines, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return "", refuse("No log file found for spec '%s'. Logs are created when a spec is executed with `chant work`.", entry.ID)
	}
	if cut {
		omitted := fmt.Sprintf("%s: only the last %d MiB are returned", p.Dir.Relative(path), maxLog>>20)
		p.Warn(omitted)
		p.note(omitted + "; the first of the requested lines are not included")
	}
	return text, err
}
