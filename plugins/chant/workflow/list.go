package workflow

import (
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/sdk/fold"
)

// Hit is one spec in the result of Search.
type Hit struct {
	ID     string      `json:"id"`
	Title  *string     `json:"title"`
	Status spec.Status `json:"status"`
	Type   string      `json:"type"`
}

func (p *Project) hitOf(entry *board.Entry) Hit {
	return Hit{entry.ID, entry.Title(), p.shown(entry.Status), entry.Spec.Type}
}

// Row holds the fields of a spec that a list shows.
type Row struct {
	Hit
	DependsOn []string `json:"depends_on"`
	Labels    []string `json:"labels"`
}

func (p *Project) rowOf(entry *board.Entry) Row {
	return Row{p.hitOf(entry), entry.Spec.DependsOn, entry.Spec.Labels}
}

// Page is the part of a list up to the requested number of specs.
type Page struct {
	Specs    []Row  `json:"specs"`
	Total    int    `json:"total"` // number of all matching specs, including those beyond the requested number
	Limit    uint64 `json:"limit"`
	Returned int    `json:"returned"`
	Omitted  string `json:"omitted,omitzero"` // names of the specs that a limit of package board excludes from Total
}

// List returns the specs with the given status. It returns all specs if status is nil or does not name a status.
func (p *Project) List(status *string, limit uint64) (Page, error) {
	loaded, err := p.load(true)
	if err != nil {
		return Page{}, err
	}
	return p.page(loaded, filterByStatus(loaded, status), limit), nil
}

// Ready returns the specs on which work can begin.
func (p *Project) Ready(limit uint64) (Page, error) {
	loaded, err := p.load(true)
	if err != nil {
		return Page{}, err
	}
	return p.page(loaded, loaded.Ready, limit), nil
}

func (p *Project) page(loaded *board.Board, keep func(*board.Entry) bool, limit uint64) Page {
	result := Page{Specs: []Row{}, Limit: limit, Omitted: loaded.Omitted()}
	for _, entry := range loaded.Entries {
		if !keep(entry) {
			continue
		}
		result.Total++
		if uint64(len(result.Specs)) < limit {
			result.Specs = append(result.Specs, p.rowOf(entry))
		}
	}
	result.Returned = len(result.Specs)
	return result
}

// Search returns the specs whose title or body contains query, ignoring case. The argument status selects specs in the
// same way as for List.
func (p *Project) Search(query string, status *string) ([]Hit, error) {
	query = fold.Lower(query)
	loaded, err := board.LoadForSearch(p.Dir, p.boardGit(true), query)
	if err != nil {
		return nil, err
	}
	p.logErrors(loaded.Errors)
	p.noteUnread(loaded)
	if omitted := loaded.Omitted(); omitted != "" {
		p.note(omitted)
	}
	found := loaded.Search(query, filterByStatus(loaded, status), func(err error) {
		p.note("cannot search the body of a spec: " + err.Error())
	})
	hits := []Hit{}
	for _, entry := range found {
		hits = append(hits, p.hitOf(entry))
	}
	return hits, nil
}

// Details holds the fields of a spec that Get returns.
type Details struct {
	Row
	TargetFiles []string `json:"target_files"`
	Context     []string `json:"context"`
	Prompt      *string  `json:"prompt"`
	Branch      *string  `json:"branch"`
	Commits     []string `json:"commits"`
	CompletedAt *string  `json:"completed_at"`
	Model       *string  `json:"model"`
	Body        string   `json:"body"`
}

// Get returns the details of one spec.
func (p *Project) Get(id string) (Details, error) {
	entry, err := p.find(id, true)
	if err != nil {
		return Details{}, err
	}
	s := entry.Spec
	return Details{
		Row: p.rowOf(entry), TargetFiles: s.TargetFiles, Context: s.Context, Prompt: s.Prompt, Branch: s.Branch, Commits: s.Commits,
		CompletedAt: s.CompletedAt, Model: s.Model, Body: s.Body,
	}, nil
}
