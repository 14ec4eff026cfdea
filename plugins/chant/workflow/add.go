package workflow

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// maxTries is the maximum number of ids that Add generates. A generated id equals a given existing id of the same
// sequence number with a probability of 1 in 46656.
const maxTries = 8

// Add creates a pending spec. The argument prompt is the name of a prompt template, or nil.
func (p *Project) Add(description string, prompt *string) (string, error) {
	content, err := spec.New(description, prompt)
	if err != nil {
		return "", err
	}
	for range maxTries {
		id, err := p.newID()
		if err != nil {
			return "", err
		}
		err = store.Create(p.Dir.Spec(id), content)
		if err == nil {
			return "Created spec: " + id, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("cannot create spec '%s': %w", id, err)
		}
	}
	return "", fmt.Errorf("cannot create spec: all %d ids generated for %s already exist; try again", maxTries, p.today())
}

// newID generates an id with today's date. It ignores archived specs, so it may reuse the sequence number of an
// archived spec with another suffix.
func (p *Project) newID() (string, error) {
	names, err := p.Dir.SpecNames()
	if err != nil {
		return "", err
	}
	suffix, err := id.Suffix(p.Random)
	if err != nil {
		return "", err
	}
	return id.New(p.today(), id.Next(names, p.today()), suffix), nil
}
