//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contextTask is a question about a project, and how an author answered it in each mode who knew nothing but what the server says.
type contextTask struct {
	question string
	want     []string // the answer, in any order
	// The calls in turn, by mode: those of one turn are made together. They are in testdata/context.
	turns map[string][][]contextCall
}

// contextCall is a call of a tool, or several that differ in one argument.
type contextCall struct {
	Tool string   `json:"tool"`
	Args members  `json:"args"`
	Each string   `json:"each"` // the argument that differs
	Of   []string `json:"of"`   // its values
}

// alone returns the calls one by one.
func (c contextCall) alone() (calls []contextCall) {
	if c.Each == "" {
		return []contextCall{c}
	}
	for _, value := range c.Of {
		args := members{c.Each: value}
		maps.Copy(args, c.Args)
		calls = append(calls, contextCall{Tool: c.Tool, Args: args})
	}
	return calls
}

// contextTasks returns the twenty tasks with their recorded calls. PROJECT in these stands for the directory of the project.
func contextTasks(t *testing.T, p *contextProject, project string) []contextTask {
	t.Helper()
	tasks := slices.Concat(specTasks(p), changeTasks(p), packageTasks(p), promptTasks(p), mixedTasks(p))
	for _, mode := range contextModes {
		raw, err := os.ReadFile(filepath.Join("testdata", "context", mode+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var recorded [][][]contextCall
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(raw), "PROJECT", project)), &recorded); err != nil || len(recorded) != len(tasks) {
			t.Fatalf("%s: calls of %d tasks, error %v", mode, len(recorded), err)
		}
		for i, turns := range recorded {
			if tasks[i].turns == nil {
				tasks[i].turns = map[string][][]contextCall{}
			}
			tasks[i].turns[mode] = turns
		}
	}
	return tasks
}

// keys returns a key of all elements that match.
func keys[T any](of []T, match func(T) bool, key func(T) string) (found []string) {
	for _, e := range of {
		if match(e) {
			found = append(found, key(e))
		}
	}
	return found
}

func capabilityName(c contextCapability) string { return c.name }
func specID(s contextSpec) string               { return s.id }
func changeName(c contextChange) string         { return c.name }
func packageName(p contextPackage) string       { return p.name }
func promptName(p contextPrompt) string         { return p.name }
func sourcePath(s contextSource) string         { return s.path }

func (s contextSpec) has(label string) bool { return slices.Contains(s.labels, label) }
func (c contextChange) finished() bool      { return !c.archived && c.done == c.tasks }

// ready reports whether a spec of chant is pending and depends on completed ones only.
func (p *contextProject) ready(s contextSpec) bool {
	return s.status == "pending" && !slices.ContainsFunc(s.dependsOn, func(id string) bool { return p.statusOf(id) != "completed" })
}

func (p *contextProject) statusOf(id string) string {
	return p.specs[slices.IndexFunc(p.specs, func(s contextSpec) bool { return s.id == id })].status
}

// dependents returns how many packages depend on the named one.
func (p *contextProject) dependents(name string) (n int) {
	for _, k := range p.packages {
		if slices.Contains(k.dependsOn, name) {
			n++
		}
	}
	return n
}

// areaOf returns the area with the most specs of a status.
func (p *contextProject) areaOf(status string) string {
	count := map[string]int{}
	for _, s := range p.specs {
		if s.status == status {
			count[s.labels[0]]++
		}
	}
	return slices.MaxFunc(contextAreas, func(a, b string) int { return count[a] - count[b] })
}

// hasTODO returns the test whether a source file of an area has a TODO.
func (*contextProject) hasTODO(area string) func(contextSource) bool {
	return func(s contextSource) bool {
		return strings.HasPrefix(s.path, "src/"+area+"/") && strings.Contains(s.content, "TODO")
	}
}

func specTasks(p *contextProject) []contextTask {
	return []contextTask{
		{
			question: "Which urgent specs of chant can be begun now (pending, with all dependencies completed)?",
			want:     keys(p.specs, func(s contextSpec) bool { return p.ready(s) && s.has("urgent") }, specID),
		},
		{
			question: "Which specs of chant that are not completed depend directly on a failed one?",
			want: keys(p.specs, func(s contextSpec) bool {
				return s.status != "completed" && slices.ContainsFunc(s.dependsOn, func(id string) bool { return p.statusOf(id) == "failed" })
			}, specID),
		},
		{
			question: "Which specs of chant in progress mention a data protection review?",
			want: keys(p.specs, func(s contextSpec) bool {
				return s.status == "in_progress" && strings.Contains(s.text, "data protection review")
			}, specID),
		},
		{
			question: "Which specs of chant in progress with the label export have all their acceptance criteria done?",
			want:     keys(p.specs, func(s contextSpec) bool { return s.status == "in_progress" && s.has("export") && s.done == s.criteria }, specID),
		},
	}
}

func changeTasks(p *contextProject) []contextTask {
	hub := p.hub()
	return []contextTask{
		{
			question: "Which active changes of openspec have all their tasks done?",
			want:     keys(p.changes, contextChange.finished, changeName),
		},
		{
			question: "Which archived changes of openspec have open tasks (names with the date)?",
			want:     keys(p.changes, func(c contextChange) bool { return c.archived && c.done < c.tasks }, func(c contextChange) string { return c.dir }),
		},
		{
			question: "Which capabilities of openspec have more than four requirements?",
			want:     keys(p.capabilities, func(c contextCapability) bool { return c.requirements > 4 }, capabilityName),
		},
		{
			question: fmt.Sprintf("Which active changes of openspec touch the capability %s?", hub),
			want:     keys(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.touches, hub) }, changeName),
		},
		{
			question: fmt.Sprintf("Which active changes of openspec remove a requirement of the capability %s?", hub),
			want:     keys(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.removes, hub) }, changeName),
		},
	}
}

func packageTasks(p *contextProject) []contextTask {
	billing := func(k contextPackage) bool { return k.keywords[0] == "billing" }
	return []contextTask{
		{
			question: "On which installed packages of aam do more than five other installed packages depend directly?",
			want:     keys(p.packages, func(k contextPackage) bool { return p.dependents(k.name) > 5 }, packageName),
		},
		{
			question: "For which installed packages of aam with the keyword billing does the registry have a newer version?",
			want:     keys(p.packages, func(k contextPackage) bool { return billing(k) && k.version != k.registry }, packageName),
		},
		{
			question: "On which packages of aam with the keyword billing does no installed package depend?",
			want:     keys(p.packages, func(k contextPackage) bool { return billing(k) && p.dependents(k.name) == 0 }, packageName),
		},
	}
}

func promptTasks(p *contextProject) []contextTask {
	return []contextTask{
		{
			question: "Which prompts of the project have no description?",
			want:     keys(p.prompts, func(k contextPrompt) bool { return k.description == "" }, promptName),
		},
		{
			question: "Which prompts that agentpack deployed were changed by hand since?",
			want:     p.modified,
		},
		{
			question: "Which source files below src/mobile contain a TODO?",
			want:     keys(p.sources, p.hasTODO("mobile"), sourcePath),
		},
	}
}

// mixedTasks need tools of several plugins. An area is a label of specs other than urgent.
func mixedTasks(p *contextProject) []contextTask {
	failed, busy := p.areaOf("failed"), p.areaOf("in_progress")
	ofArea := func(name string) bool { return strings.HasPrefix(name, failed+"-") }
	things := map[string]bool{}
	for _, k := range p.packages {
		if k.keywords[0] == failed {
			things[strings.Split(k.name, "-")[0]] = true
		}
	}
	touched := func(name string) bool {
		return slices.ContainsFunc(p.changes, func(c contextChange) bool { return !c.archived && slices.Contains(c.touches, name) })
	}
	return []contextTask{
		{
			question: "Which outdated packages of aam have as keyword the area with the most failed specs of chant?",
			want:     keys(p.packages, func(k contextPackage) bool { return k.keywords[0] == failed && k.version != k.registry }, packageName),
		},
		{
			question: "Which source files below src/AREA contain a TODO, where AREA is the one with the most specs in progress?",
			want:     keys(p.sources, p.hasTODO(busy), sourcePath),
		},
		{
			question: "Which finished active changes touch a capability of the area with the most failed specs?",
			want:     keys(p.changes, func(c contextChange) bool { return c.finished() && slices.ContainsFunc(c.touches, ofArea) }, changeName),
		},
		{
			question: "Which prompts begin with the same word as a package with the area with the most failed specs as keyword?",
			want:     keys(p.prompts, func(k contextPrompt) bool { return things[strings.Split(k.name, "-")[0]] }, promptName),
		},
		{
			question: "Which capabilities of the area with the most failed specs does no active change touch?",
			want:     keys(p.capabilities, func(c contextCapability) bool { return ofArea(c.name) && !touched(c.name) }, capabilityName),
		},
	}
}
