package project

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// ValidateRequest selects what Validate validates: one item, the archived changes, or all items of certain kinds. The
// zero value selects all items of all kinds.
type ValidateRequest struct {
	Name     *string // the name of the only item to validate; nil if the request does not select a single item
	Kind     Kind    // the kind of the named item; if empty, the item may have either kind
	All      bool
	Changes  bool
	Specs    bool
	Archived bool
	Strict   bool // a warning makes an item invalid, too
}

// Report is the result of Validate.
type Report struct {
	Items   []ReportItem `json:"items"`
	Summary Summary      `json:"summary"`
	Version string       `json:"version"`
	Root    RootInfo     `json:"root"`
}

// ReportItem is the result of validating one item.
type ReportItem struct {
	ID         string             `json:"id"`
	Type       Kind               `json:"type"`
	Valid      bool               `json:"valid"`
	Issues     []validation.Issue `json:"issues"`
	DurationMs int64              `json:"durationMs"`
}

// Summary holds the numbers of valid and invalid items. ByType has a key for each requested kind.
type Summary struct {
	Totals Totals          `json:"totals"`
	ByType map[Kind]Totals `json:"byType"`
}

// Totals holds numbers of items.
type Totals struct {
	Items  int `json:"items"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
}

// Validate validates specs and changes. An issue of an item is part of the report, and not an error.
func (p *Project) Validate(request ValidateRequest) (*Report, error) {
	report, err := p.validate(request)
	if err != nil {
		return nil, asFailure(err, codeValidate, "", false)
	}
	return report, nil
}

func (p *Project) validate(request ValidateRequest) (*Report, error) {
	if request.Name != nil {
		return p.validateOne(request)
	}
	root, info, err := p.find()
	if err != nil {
		return nil, err
	}
	v := newValidator(root, request.Strict)
	if request.Archived {
		err = v.archived()
		return v.report(info, KindChange), err
	}
	all := request.All || !request.Changes && !request.Specs
	v.facts = root.SpecFacts()
	var kinds []Kind
	if all || request.Changes {
		kinds = append(kinds, KindChange)
		err = v.changes()
	}
	if err == nil && (all || request.Specs) {
		kinds = append(kinds, KindSpec)
		err = v.specs()
	}
	if err != nil {
		return nil, err
	}
	return v.report(info, kinds...), nil
}

func (p *Project) validateOne(request ValidateRequest) (*Report, error) {
	name := *request.Name
	root, info, kind, err := p.item(name, request.Kind)
	if err != nil {
		return nil, err
	}
	v := newValidator(root, request.Strict)
	if kind == KindSpec {
		v.item(name, KindSpec, v.spec)
		return v.report(info, KindSpec), nil
	}
	v.item(name, KindChange, func(name string) ([]validation.Issue, error) {
		c, exists, _ := root.Change(name)
		if !exists {
			return validation.Change(validation.Input{ID: name}), nil
		}
		return v.change(c)
	})
	return v.report(info, KindChange), nil
}

// validator is the state of one call of Validate. It reads each main spec only once, up to the limit maxTargets.
type validator struct {
	root      *store.Root
	workflows *workflows
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

func newValidator(root *store.Root, strict bool) *validator {
	return &validator{root: root, workflows: newWorkflows(root), strict: strict, targets: map[string]*target{}, room: maxTargets}
}

// item adds the result of the function check for one item. If check returns a read error, the error becomes an issue of
// the item and does not end the validation.
func (v *validator) item(id string, kind Kind, check func(id string) ([]validation.Issue, error)) {
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

func (v *validator) specs() error {
	ids, err := v.root.Specs()
	for _, id := range ids {
		before := len(v.items)
		v.item(id, KindSpec, v.spec)
		if v.facts[id] == nil && !v.root.HasSpec(id) {
			v.items = v.items[:before] // another program has removed the item since it was listed
		}
	}
	return err
}

func (v *validator) changes() error {
	all, err := v.root.Changes()
	if err != nil {
		return err
	}
	return v.each(all, v.change)
}

func (v *validator) archived() error {
	all, err := v.root.Archived()
	if err != nil {
		return err
	}
	return v.each(all, v.openTasks)
}

// each validates the changes in all. It omits a change that another program removes after it was listed.
func (v *validator) each(all []store.Change, check func(store.Change) ([]validation.Issue, error)) error {
	return v.root.Each(all, func(c store.Change) error {
		before := len(v.items)
		v.item(c.Name, KindChange, func(string) ([]validation.Issue, error) { return check(c) })
		if !c.Exists() {
			v.items = v.items[:before] // another program has removed the change since it was listed
		}
		return nil
	})
}

// openTasks returns an issue if an archived change has unfinished tasks.
func (v *validator) openTasks(c store.Change) ([]validation.Issue, error) {
	done, total, unread, err := v.workflows.countTasks(c)
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

func (v *validator) spec(id string) ([]validation.Issue, error) {
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
func (v *validator) specFacts(id string) (*validation.SpecFacts, error) {
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

// main returns a main spec; nil if the spec does not exist.
func (v *validator) main(id string) (*spec.Main, error) {
	target, err := v.target(id)
	if err != nil || target == nil {
		return nil, err
	}
	return target.Main, nil
}

// target returns a main spec, from the cache if possible; nil if the spec does not exist.
func (v *validator) target(id string) (*target, error) {
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

func (v *validator) change(c store.Change) ([]validation.Issue, error) {
	nested, err := v.workflows.nested(c)
	if err != nil {
		return nil, err
	}
	if nested != nil {
		return []validation.Issue{{Level: validation.Error, Path: "file", Message: nestedText(c.Name, nested)}}, nil
	}
	in := validation.Input{ID: c.Name}
	loose, err := v.deltas(c, &in)
	if err != nil {
		return nil, err
	}
	if err := v.input(c, &in, loose); err != nil {
		return nil, err
	}
	return validation.Change(in), nil
}

// deltas sets the deltas of a change in the argument "in", and returns the paths of the other files in the directory specs of the
// change. It reads a delta only if the facts of the delta are unknown, or if Fit reports that the facts do not suffice.
func (v *validator) deltas(c store.Change, in *validation.Input) (loose []string, err error) {
	ids, loose, err := c.Deltas()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		file := validation.File{ID: id}
		if known := c.Facts("specs/" + id + "/spec.md"); known != nil && known.Delta != nil {
			file.Facts = known.Delta
		} else {
			read, err := readDelta(c, id)
			if err != nil {
				return nil, err
			}
			file.Facts = read.facts()
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
		read, err := readDelta(c, file.ID)
		if err != nil {
			return nil, err
		}
		if file.Target, err = v.main(file.ID); err != nil {
			return nil, err
		}
		file.Delta, file.Facts = read.parsed, read.facts()
	}
	return loose, nil
}

// input reads those files of a change that its validation needs, except for the deltas.
func (v *validator) input(c store.Change, in *validation.Input, loose []string) (err error) {
	in.HasFiles = len(in.Deltas)+len(loose) > 0
	in.RootSpec = slices.Contains(loose, "spec.md")
	if in.Misplaced, err = misplacedDeltas(c, loose); err != nil {
		return err
	}
	if in.Metadata, in.Invalid, _, err = v.workflows.metadata(c); err != nil {
		return err
	}
	in.Tasks, _, err = v.workflows.tasks(c)
	return err
}

// misplacedDeltas returns those loose files that contain delta sections. Such sections have no effect in these files.
func misplacedDeltas(c store.Change, loose []string) ([]validation.Misplaced, error) {
	var found []validation.Misplaced
	for _, path := range loose {
		if !strings.EqualFold(filepath.Ext(path), ".md") || filepath.Base(path) == "spec.md" {
			continue
		}
		source, _, err := c.ReadLoose(path)
		if err != nil {
			return nil, err
		}
		if hasSections(source) {
			found = append(found, validation.Misplaced{Path: path, Expected: expected(path)})
		}
	}
	return found, nil
}

// report returns a report with the items sorted and counted.
func (v *validator) report(info RootInfo, kinds ...Kind) *Report {
	report := &Report{Items: v.items, Version: "1.0", Root: info, Summary: Summary{ByType: map[Kind]Totals{}}}
	if report.Items == nil {
		report.Items = []ReportItem{}
	}
	slices.SortStableFunc(report.Items, func(a, b ReportItem) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Type, b.Type))
	})
	for _, kind := range kinds {
		report.Summary.ByType[kind] = Totals{}
	}
	for _, item := range report.Items {
		totals := report.Summary.ByType[item.Type]
		totals.count(item.Valid)
		report.Summary.ByType[item.Type] = totals
		report.Summary.Totals.count(item.Valid)
	}
	return report
}

func (t *Totals) count(valid bool) {
	t.Items++
	if valid {
		t.Passed++
	} else {
		t.Failed++
	}
}
