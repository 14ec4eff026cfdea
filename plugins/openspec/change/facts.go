package change

import (
	"errors"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// TaskFacts holds the data about a task file that lists and validation need. The data depends only on the content of
// the file.
type TaskFacts struct {
	Done, Total int
	FirstItem   int // number of the first line that is a list item; 0 if the file has no list item
	Numbered    []NumberedTask
	// Orderly reports whether the number of every task is unique in the file and begins with the number of the task's
	// group.
	Orderly bool
}

// NumberedTask is a task with a number such as 2.1, in a group such as "## 2. Tests".
type NumberedTask struct {
	ID, Group string
	Line      int // line number in the file, from 1
}

// lead returns the first number in the id of the task. It should equal the number of the task's group.
func (n NumberedTask) lead() string {
	lead, _, _ := strings.Cut(n.ID, ".")
	return lead
}

// TaskFactsOf returns the facts of a task file with the given source.
func TaskFactsOf(source string) TaskFacts {
	var facts TaskFacts
	lines := strings.Split(source, "\n")
	group := "" // number of the current group; "" outside of groups
	for i, line := range lines {
		if level, rest := markdown.Indented(strings.TrimSuffix(line, "\r")); level == 2 {
			group = ""
			if found := groupNumber.FindStringSubmatch(rest); found != nil {
				group = found[1]
			}
		}
		task, ok := parseTask(line)
		if !ok {
			continue
		}
		if facts.Total++; task.Done {
			facts.Done++
		}
		if group == "" {
			continue
		}
		if id := taskID.FindStringSubmatch(task.Description); id != nil {
			facts.Numbered = append(facts.Numbered, NumberedTask{ID: id[1], Group: group, Line: i + 1})
		}
	}
	if facts.Total == 0 { // LintLists needs FirstItem only for a file without tasks
		facts.FirstItem = firstItem(lines)
	}
	facts.Orderly = LintNumbers([]TaskFile{{TaskFacts: facts}}) == nil
	return facts
}

// Fields implements derive.Fielder.
func (f *TaskFacts) Fields(c *derive.Codec) {
	c.Int(&f.Done)
	c.Int(&f.Total)
	c.Int(&f.FirstItem)
	derive.List(c, &f.Numbered)
	c.Bool(&f.Orderly)
}

// Fields implements derive.Fielder.
func (n *NumberedTask) Fields(c *derive.Codec) {
	c.String(&n.ID)
	c.String(&n.Group)
	c.Int(&n.Line)
}

// MetadataFacts is the result of parsing a metadata file. It depends only on the content of the file.
type MetadataFacts struct {
	Metadata
	Invalid *Invalid // the error of ParseMetadata; nil if the file is valid
}

// MetadataFactsOf parses the source of a metadata file.
func MetadataFactsOf(source string) MetadataFacts {
	meta, err := ParseMetadata(source)
	facts := MetadataFacts{Metadata: meta}
	errors.As(err, &facts.Invalid)
	return facts
}

// Fields implements derive.Fielder.
func (m *MetadataFacts) Fields(c *derive.Codec) {
	c.String(&m.Schema)
	c.Bool(&m.SkipSpecs)
	c.Bool(&m.RetireCapabilities)
	derive.Optional(c, &m.Invalid, func(i *Invalid) {
		c.String(&i.Reason) // Cause is always nil here, because ParseMetadata never sets it
		c.Bool(&i.SkipSpecs)
		c.Bool(&i.Retire)
	})
}
