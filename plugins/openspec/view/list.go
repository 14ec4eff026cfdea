// Package view lists and shows the specs and changes of a project, and reads them as resources. It changes nothing.
//
//	changes, err := view.ListChanges(p, view.ByName)
//	shown, err := view.Show(p, view.ShowRequest{Name: "add-login"})
package view

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

// Order is the order in which ListChanges lists changes.
type Order string

// The orders of changes. ByTime lists the newest change first, and changes of the same time by name.
const (
	ByTime Order = "recent"
	ByName Order = "name"
)

const codeList = "list_error"

// timeForm is the layout of a time in UTC, in ISO 8601 with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z"

// ChangeList is a list of active changes.
type ChangeList struct {
	Changes  []ChangeItem     `json:"changes"`
	Warnings []NestedWarning  `json:"warnings,omitempty"`
	Root     project.RootInfo `json:"root"`
}

// ChangeItem describes an active change in a list.
type ChangeItem struct {
	Name           string   `json:"name"`
	CompletedTasks int      `json:"completedTasks"`
	TotalTasks     int      `json:"totalTasks"`
	LastModified   string   `json:"lastModified"`
	Status         string   `json:"status"` // one of "no-tasks", "complete" and "in-progress"
	Nested         []string `json:"nested,omitempty"`
	modified       time.Time
}

// NestedWarning is the warning about a directory that contains changes and is not a change itself.
type NestedWarning struct {
	Code    string   `json:"code"`
	Name    string   `json:"name"`
	Nested  []string `json:"nested"`
	Message string   `json:"message"`
}

// SpecList is a list of main specs.
type SpecList struct {
	Specs []SpecItem       `json:"specs"`
	Root  project.RootInfo `json:"root"`
}

// SpecItem describes a main spec in a list. If the spec cannot be parsed, its count is 0.
type SpecItem struct {
	ID               string `json:"id"`
	RequirementCount int    `json:"requirementCount"`
}

// ArchivedList is a list of archived changes.
type ArchivedList struct {
	Archived []ArchivedItem   `json:"archived"`
	Root     project.RootInfo `json:"root"`
}

// ArchivedItem describes an archived change. Name is the name of its directory, which consists of Date and Change.
type ArchivedItem struct {
	Name           string `json:"name"`
	Date           string `json:"date"` // "" if the name of the directory has no date
	Change         string `json:"change"`
	CompletedTasks int    `json:"completedTasks"`
	TotalTasks     int    `json:"totalTasks"`
}

// ListChanges lists the active changes.
func ListChanges(p *project.Project, order Order) (_ *ChangeList, err error) {
	defer project.Convert(&err, codeList, "changes", true)
	root, info, err := p.Find()
	if err != nil {
		return nil, err
	}
	all, err := root.Changes()
	if err != nil {
		return nil, err
	}
	list := &ChangeList{Changes: make([]ChangeItem, 0, len(all)), Root: info}
	w := project.NewWorkflows(root)
	err = root.Each(all, func(one store.Change) error {
		item, err := changeItem(w, one)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !one.Exists() {
			return nil // another call has archived or removed the change since the directory was listed
		}
		if err != nil {
			return err
		}
		list.Changes = append(list.Changes, item)
		if item.Nested != nil {
			list.Warnings = append(list.Warnings, NestedWarning{
				Code: "nested_change_directory", Name: one.Name, Nested: item.Nested, Message: project.NestedText(one.Name, item.Nested)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if order != ByName {
		slices.SortStableFunc(list.Changes, func(a, b ChangeItem) int {
			return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(a.Name, b.Name))
		})
	}
	return list, nil
}

func changeItem(w *project.Workflows, c store.Change) (item ChangeItem, err error) {
	item.Name = c.Name
	if item.CompletedTasks, item.TotalTasks, _, err = w.CountTasks(c); err != nil {
		return item, err
	}
	switch {
	case item.TotalTasks == 0:
		item.Status = "no-tasks"
	case item.CompletedTasks == item.TotalTasks:
		item.Status = "complete"
	default:
		item.Status = "in-progress"
	}
	modified, entries, err := c.Modified()
	if err != nil {
		return item, err
	}
	item.modified = roundTime(modified)
	item.LastModified = item.modified.Format(timeForm)
	item.Nested, err = w.NestedIn(c, entries)
	return item, err
}

// roundTime rounds the time of a file to milliseconds exactly as the openspec CLI does, in floating point with 53 bits.
func roundTime(at time.Time) time.Time {
	ms := float64(at.Unix()*1000) + float64(at.Nanosecond())/1e6
	return time.UnixMilli(int64(math.Trunc(ms + 0.5))).UTC()
}

// ListSpecs lists the main specs.
func ListSpecs(p *project.Project) (_ *SpecList, err error) {
	defer project.Convert(&err, codeList, "specs", true)
	root, info, err := p.Find()
	if err != nil {
		return nil, err
	}
	known := root.SpecFacts()
	ids, err := root.Specs()
	if err != nil {
		return nil, err
	}
	list := &SpecList{Specs: make([]SpecItem, 0, len(ids)), Root: info}
	for _, id := range ids {
		if facts := known[id]; facts != nil {
			list.Specs = append(list.Specs, SpecItem{ID: id, RequirementCount: facts.Requirements})
			continue
		}
		source, found, err := root.ReadSpec(id)
		if err != nil {
			return nil, err
		}
		if !found {
			continue // another program has removed the spec since the directory was listed
		}
		item := SpecItem{ID: id}
		if parsed, err := spec.Parse(id, markdown.ParseAny(source)); err == nil {
			item.RequirementCount = len(parsed.Requirements)
		}
		list.Specs = append(list.Specs, item)
	}
	return list, nil
}

// ListArchived lists the archived changes by name.
func ListArchived(p *project.Project) (_ *ArchivedList, err error) {
	defer project.Convert(&err, codeList, "archived", true)
	root, info, err := p.Find()
	if err != nil {
		return nil, err
	}
	all, err := root.Archived()
	if err != nil {
		return nil, err
	}
	list := &ArchivedList{Archived: make([]ArchivedItem, 0, len(all)), Root: info}
	w := project.NewWorkflows(root)
	err = root.Each(all, func(one store.Change) error {
		done, total, _, err := w.CountTasks(one)
		if err != nil || !one.Exists() { // another program may have removed the directory concurrently
			return err
		}
		item := ArchivedItem{Name: one.Name, Change: one.Name, CompletedTasks: done, TotalTasks: total}
		if store.HasDate(one.Name) {
			item.Date, item.Change = one.Name[:len(time.DateOnly)], one.Name[len(time.DateOnly)+1:]
		}
		list.Archived = append(list.Archived, item)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
