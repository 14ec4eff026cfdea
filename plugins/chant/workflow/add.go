package workflow

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// maxTries bounds how often a new id is drawn; that one is taken is a chance of one in 46656.
const maxTries = 8

// Add creates a pending spec. Prompt is the name of a prompt template; nil and "" are none.
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
			return "", fmt.Errorf("create spec '%s': %w", id, err)
		}
	}
	return "", fmt.Errorf("create spec: %d ids drawn for %s are all taken", maxTries, p.today())
}

// newID draws an id for today. The archive is not looked at: sequences start again once a day's specs
// are archived, and the suffix alone tells them apart.
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
