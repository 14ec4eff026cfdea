package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// Validator is the state of one call. It reads each main spec only once, up to the limit maxTargets.
type Validator struct {
	root      *store.Root
	Workflows *project.Workflows
	strict    bool
	items     []ReportItem
	facts     map[string]*validation.SpecFacts // facts of main specs, which the validator then need not read; the key is the id
	// targets caches main specs, and nil for a spec that does not exist. room is the number of bytes that the cache may
	// still take.
	targets map[string]*target
	room    int
}

// target is a main spec together with its facts.
type target struct {
	*spec.Main
	facts *validation.SpecFacts // set by the method specFacts
}

// maxTargets is the maximum total file size of the cached main specs, in bytes. A parsed spec takes up to twenty times
// the size of its file. A spec that is not cached is read again for each change that affects it.
const maxTargets = store.MaxFile

// New returns a Validator. If strict is set, a warning makes an item invalid, too.
func New(root *store.Root, strict bool) *Validator {
	return &Validator{root: root, Workflows: project.NewWorkflows(root), strict: strict, targets: map[string]*target{}, room: maxTargets}
}

// item adds the result of the function check for one item. If check returns a read error, the error becomes an issue of
// the item and does not end the validation.
func (v *Validator) item(id string, kind project.Kind, check func(id string) ([]validation.Issue, error)) {
	begin := time.Now()
	issues, err := check(id)
	if err != nil {
		issues = append(issues, validation.Issue{Level: validation.Error, Path: "file", Message: err.Error()})
	}
	if issues == nil {
		issues = []validation.Issue{}
	}
	v.items = append(v.items, ReportItem{
		ID: id, Type: kind, Valid: validation.Valid(issues, v.strict), Issues: issues, DurationMs: time.Since(begin).Milliseconds()})
}

func (v *Validator) specs() error {
	ids, err := v.root.Specs()
	for _, id := range ids {
		before := len(v.items)
		v.item(id, project.KindSpec, v.spec)
		if v.facts[id] == nil && !v.root.HasSpec(id) {
			v.items = v.items[:before] // another program has removed the item since it was listed
		}
	}
	return err
}

func (v *Validator) changes() error {
	all, err := v.root.Changes()
	if err != nil {
		return err
	}
	return v.each(all, v.change)
}

func (v *Validator) archived() error {
	all, err := v.root.Archived()
	if err != nil {
		return err
	}
	return v.each(all, v.openTasks)
}

// each validates the changes in all. It omits a change that another program removes after it was listed.
func (v *Validator) each(all []store.Change, check func(store.Change) ([]validation.Issue, error)) error {
	return v.root.Each(all, func(c store.Change) error {
		before := len(v.items)
		v.item(c.Name, project.KindChange, func(string) ([]validation.Issue, error) { return check(c) })
		if !c.Exists() {
			v.items = v.items[:before] // another program has removed the change since it was listed
		}
		return nil
	})
}

// openTasks returns an issue if an archived change has unfinished tasks.
func (v *Validator) openTasks(c store.Change) ([]validation.Issue, error) {
	done, total, unread, err := v.Workflows.CountTasks(c)
	if err != nil {
		return nil, err
	}
	var issues []validation.Issue
	for _, file := range unread {
		path := filepath.Join(store.DirName, "changes", store.ArchiveName, c.Name, file)
		issues = append(issues, validation.Issue{Level: validation.Error, Path: filepath.ToSlash(path), Message: "could not read task file"})
	}
	if done == total {
		return issues, nil
	}
	word := "tasks"
	if total-done == 1 {
		word = "task"
	}
	return append(issues, validation.Issue{Level: validation.Error, Path: store.TasksFile, Message: fmt.Sprintf(
		"%d incomplete %s (%d/%d completed)", total-done, word, done, total)}), nil
}

func (v *Validator) spec(id string) ([]validation.Issue, error) {
	facts, err := v.specFacts(id)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return nil, fmt.Errorf("ENOENT: no such file or directory, open '%s'", v.root.SpecPath(id))
	}
	return facts.Issues, nil
}

// specFacts returns the facts of a main spec; nil if the spec does not exist.
func (v *Validator) specFacts(id string) (*validation.SpecFacts, error) {
	if known := v.facts[id]; known != nil {
		return known, nil
	}
	target, err := v.target(id)
	if err != nil || target == nil {
		return nil, err
	}
	if target.facts == nil {
		facts := validation.SpecFactsOf(target.Main)
		target.facts = &facts
	}
	return target.facts, nil
}

// Main returns a main spec; nil if the spec does not exist.
func (v *Validator) Main(id string) (*spec.Main, error) {
	target, err := v.target(id)
	if err != nil || target == nil {
		return nil, err
	}
	return target.Main, nil
}

// target returns a main spec, from the cache if possible; nil if the spec does not exist.
func (v *Validator) target(id string) (*target, error) {
	if known, ok := v.targets[id]; ok {
		return known, nil
	}
	source, found, err := v.root.ReadSpec(id)
	if err != nil {
		return nil, err
	}
	if !found {
		v.targets[id] = nil
		return nil, nil
	}
	main := spec.NewMain(source)
	read := &target{Main: main}
	if v.room >= len(source) {
		v.targets[id], v.room = read, v.room-len(source)
	}
	return read, nil
}

func (v *Validator) change(c store.Change) ([]validation.Issue, error) {
	nested, err := v.Workflows.Nested(c)
	if err != nil {
		return nil, err
	}
	if nested != nil {
		return []validation.Issue{{Level: validation.Error, Path: "file", Message: project.NestedText(c.Name, nested)}}, nil
	}
	in := validation.Input{ID: c.Name}
	loose, err := v.deltas(c, &in)
	if err != nil {
		return nil, err
	}
	if err := v.Input(c, &in, loose); err != nil {
		return nil, err
	}
	return validation.Change(in), nil
}

// deltas sets the deltas of a change in the argument "in", and returns the paths of the other files in the directory specs of the
// change. It reads a delta only if the facts of the delta are unknown, or if Fit reports that the facts do not suffice.
func (v *Validator) deltas(c store.Change, in *validation.Input) (loose []string, err error) {
	ids, loose, err := c.Deltas()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		file := validation.File{ID: id}
		if known := c.Facts("specs/" + id + "/spec.md"); known != nil && known.Delta != nil {
			file.Facts = known.Delta
		} else {
			read, err := project.ReadDelta(c, id)
			if err != nil {
				return nil, err
			}
			file.Facts = read.Facts()
		}
		in.Deltas = append(in.Deltas, file)
	}
	for i := range in.Deltas {
		file := &in.Deltas[i]
		main, err := v.specFacts(file.ID)
		if err != nil {
			return nil, err
		}
		// These names become part of a new spec, where a line break in a name could begin a header.
		usual := main != nil || store.CheckSpec(file.ID) == nil && store.CheckChange(c.Name) == nil
		if usual && file.Facts.Fit(main) {
			continue
		}
		file.Path = v.root.SpecPath(file.ID)
		read, err := project.ReadDelta(c, file.ID)
		if err != nil {
			return nil, err
		}
		if file.Target, err = v.Main(file.ID); err != nil {
			return nil, err
		}
		file.Delta, file.Facts = read.Parsed, read.Facts()
	}
	return loose, nil
}

// Input reads those files of a change that its validation needs, except for the deltas.
func (v *Validator) Input(c store.Change, in *validation.Input, loose []string) (err error) {
	in.HasFiles = len(in.Deltas)+len(loose) > 0
	in.RootSpec = slices.Contains(loose, "spec.md")
	if in.Misplaced, err = project.MisplacedDeltas(c, loose); err != nil {
		return err
	}
	if in.Metadata, in.Invalid, _, err = v.Workflows.Metadata(c); err != nil {
		return err
	}
	in.Tasks, _, err = v.Workflows.Tasks(c)
	return err
}
